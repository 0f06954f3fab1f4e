"""``partition``: spread an array over banks."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.core.alias import AliasClasses, has_views
from allo.dialects.core.locations import place_of
from allo.dialects.core.partition import (
    ArrayLayout,
    DimPartition,
    Partition,
    layout_of,
    make_dim,
    with_layout,
)
from allo.dialects.core.signature import refresh_types
from allo.dialects.diagnostics import PartitionError, PartitionWarning, ScheduleError, SourcePlace
from allo.dialects.passes.fold_views import fold_views
from allo.dialects.text import differences
from allo.schedule.handles import Buffer, MockBuffer
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import FoundBuffer, find_buffer
from allo.schedule.state import ScheduleState


@primitive
def partition(
    s: ScheduleState,
    target: Buffer,
    partition_type: Partition | int = Partition.Complete,
    dim: int = 0,
    factor: int = 0,
) -> None:
    """Spread an array over banks, along one dimension (counted from 1) or all (0).

    ::

        s.partition(s.A, Partition.Cyclic, dim=2, factor=4)

        memref<8x8xi32>   ──▶   memref<8x8xi32, (d0, d1) -> (0, d1 mod 4, d0, d1 floordiv 4)>

    The layout goes to every use of the array: arguments of callees, callers, returned arrays,
    constants. Several dimensions take one call each. Functions that are passed slices of the array
    take the whole array and the slice's offsets from then on; ``dim`` still counts the dimensions that
    they declare. What another name of the array was given already stays as it is, and so does an array
    that is partitioned completely on all dimensions.

    Raises:
        PartitionError: an invalid kind, dimension or factor, or a conflict with an earlier call.
    """
    if isinstance(target, str) and target.count(":") != 1:
        raise ScheduleError(
            f'partition: a string names a buffer as "func:buffer", got {target!r}.',
            help=f's.partition(s.{target}, …) or s.partition("{s.top_func_name}:{target}", …).',
        )
    buffer = find_buffer(s.module, s.top_func_name, target, "partition")
    if has_views(s.module) and AliasClasses(s.module.operation).taken_views(buffer.value):
        fold_views(s.module)
        buffer = find_buffer(s.module, s.top_func_name, target, "partition")
    place = _place(buffer)
    kind = _kind(partition_type, place)
    _check_dimension(dim, buffer, place)
    old = layout_of(buffer.type)
    if _is_complete(old):
        return
    factor = _factor(kind, factor, buffer, place)
    asked = _Asked(buffer, kind, dim, factor, place)
    _warn_clamped(asked)
    if not _is_there(s, asked, old):
        _apply(s, buffer, _layout(asked, old))
    key = asked.key
    s.partitioned_arrays[key] = [*s.partitioned_arrays.get(key, ()), (dim, kind, factor)]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One call: ``dim`` is a dimension that the function declares, counted from 1, or 0."""

    buffer: FoundBuffer
    kind: Partition
    dim: int
    factor: int
    place: SourcePlace | None

    @property
    def key(self) -> str:
        return f"{self.buffer.func}:{self.buffer.name}"

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimensions of the whole array that are meant, counted from 0."""
        return self.buffer.dims if self.dim == 0 else (self.buffer.dims[self.dim - 1],)

    def of(self, extent: int) -> DimPartition:
        return make_dim(self.kind, extent, self.factor)


def _place(buffer: FoundBuffer) -> SourcePlace | None:
    if isinstance(buffer.value, ir.BlockArgument):
        return place_of(buffer.value.location) or place_of(buffer.function)
    return place_of(buffer.value.owner.operation)


def _kind(value: Any, place: SourcePlace | None) -> Partition:
    try:
        return Partition(value)
    except ValueError:
        raise PartitionError(
            f"Invalid partition type {value!r}.",
            place,
            help="it is Partition.Complete, Partition.Block or Partition.Cyclic.",
        ) from None


def _check_dimension(dim: int, buffer: FoundBuffer, place: SourcePlace | None) -> None:
    rank = len(buffer.dims)
    if isinstance(dim, bool) or not isinstance(dim, int) or not 0 <= dim <= rank:
        raise PartitionError(
            f"Invalid dimension {dim!r} for array {buffer.name} of rank {rank}.",
            place,
            help=f"dimensions count from 1 to {rank}; 0 means all of them.",
        )


def _factor(kind: Partition, factor: int, buffer: FoundBuffer, place: SourcePlace | None) -> int:
    if kind is Partition.Complete:
        return 0
    try:
        return check_integer(factor, 1, "the factor", "give the number of banks.", place)
    except ScheduleError:
        raise PartitionError(
            f"Invalid factor {factor!r}: a {kind.name} partition of {buffer.name} needs a number "
            "of banks of at least 1.",
            place,
            notes=(differences.FACTOR,) if not factor else (),
            help=f"s.partition(s.{buffer.name}, Partition.{kind.name}, dim=…, factor=2).",
        ) from None


def _is_complete(layout: ArrayLayout) -> bool:
    return all(d.kind is Partition.Complete for d in layout.dims)


def _is_there(s: ScheduleState, asked: _Asked, old: ArrayLayout) -> bool:
    """Whether the array is spread like that already, by a call for another name of it."""
    said = [dim for dim, _, _ in s.partitioned_arrays.get(asked.key, ())]
    if asked.dim in said or 0 in said:
        return False
    shape = _static_shape(asked.buffer, asked.place)
    return all(old.dims[d] == asked.of(shape[d]) for d in asked.dims)


def _layout(asked: _Asked, old: ArrayLayout) -> ArrayLayout:
    shape = _static_shape(asked.buffer, asked.place)
    name = asked.buffer.name
    taken = [d for d in asked.dims if old.dims[d].kind is not None]
    if taken and asked.dim == 0:
        raise PartitionError(
            "Cannot mix all-dim partitioning (dim=0) with per-dimension partitions for array "
            f"{name}.",
            asked.place,
            help="partition each remaining dimension by its number.",
        )
    if taken:
        raise PartitionError(
            f"Cannot partition the same array on dimension {asked.dim} twice: {name}.",
            asked.place,
            help="leave one of the calls out.",
        )
    dims: list[DimPartition] = list(old.dims)
    for d in asked.dims:
        dims[d] = asked.of(shape[d])
    return ArrayLayout(tuple(dims))


def _warn_clamped(asked: _Asked) -> None:
    """More banks than elements: a dimension gets a bank an element, and the user hears of it."""
    shape = _static_shape(asked.buffer, asked.place)
    most = max(shape[d] for d in asked.dims)
    if asked.factor > most:
        where = f"{asked.place}: " if asked.place else ""
        which = "every dimension" if asked.dim == 0 else f"dimension {asked.dim}"
        warnings.warn(
            f"{where}{asked.buffer.name} is to have {asked.factor} banks along {which}, but has {most} "
            f"elements there: it gets {most} banks.",
            PartitionWarning,
            stacklevel=4,
        )


def _static_shape(buffer: FoundBuffer, place: SourcePlace | None) -> list[int]:
    kind = buffer.type
    if not kind.has_static_shape:
        raise PartitionError(
            f"Array {buffer.name} has a dimension of unknown extent and cannot be partitioned.",
            place,
            help="give every dimension a number.",
        )
    return list(kind.shape)


def _apply(s: ScheduleState, buffer: FoundBuffer, layout: ArrayLayout) -> None:
    classes = AliasClasses(s.module.operation)
    views = classes.taken_views(buffer.value)
    if views:
        raise PartitionError(
            f"Array {buffer.name} is used through a {views[0].name} view and cannot be partitioned.",
            place_of(views[0]),
            help="copy the slice into an array of its own first.",
        )
    for value in classes.members(buffer.value):
        value.set_type(with_layout(ir.MemRefType(value.type), layout))
    for op in classes.globals_of(buffer.value):
        kind = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
        op.attributes["type"] = ir.TypeAttr.get(with_layout(kind, layout))
    refresh_types(classes.functions.values())


__all__ = ["MockBuffer", "partition"]
