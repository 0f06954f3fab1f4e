"""``partition``: spread an array over banks."""

from __future__ import annotations

import warnings
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
    take the whole array and the slice's offsets from then on. An array that is partitioned completely
    on all dimensions stays as it is.

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
    rank = buffer.type.rank
    dim = _dimension(dim, rank, buffer, place)
    old = layout_of(buffer.type)
    if _is_complete(old):
        return
    factor = _factor(kind, factor, buffer, place)
    new = _layout(buffer, kind, dim, factor, old, place)
    _warn_clamped(buffer, dim, factor, place)
    _note(s, buffer, dim, kind, factor)
    _apply(s, buffer, new)


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


def _dimension(dim: int, rank: int, buffer: FoundBuffer, place: SourcePlace | None) -> int:
    if isinstance(dim, bool) or not isinstance(dim, int) or not 0 <= dim <= rank:
        raise PartitionError(
            f"Invalid dimension {dim!r} for array {buffer.name} of rank {rank}.",
            place,
            help=f"dimensions count from 1 to {rank}; 0 means all of them.",
        )
    return dim


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


def _layout(
    buffer: FoundBuffer,
    kind: Partition,
    dim: int,
    factor: int,
    old: ArrayLayout,
    place: SourcePlace | None,
) -> ArrayLayout:
    shape = _static_shape(buffer, place)
    name = buffer.name
    if dim == 0:
        if any(d.kind is not None for d in old.dims):
            raise PartitionError(
                "Cannot mix all-dim partitioning (dim=0) with per-dimension partitions for array "
                f"{name}.",
                place,
                help="partition each remaining dimension by its number.",
            )
        return ArrayLayout(tuple(make_dim(kind, extent, factor) for extent in shape))
    if old.dims[dim - 1].kind is not None:
        raise PartitionError(
            f"Cannot partition the same array on dimension {dim} twice: {name}.",
            place,
            help="leave one of the calls out.",
        )
    dims: list[DimPartition] = list(old.dims)
    dims[dim - 1] = make_dim(kind, shape[dim - 1], factor)
    return ArrayLayout(tuple(dims))


def _warn_clamped(buffer: FoundBuffer, dim: int, factor: int, place: SourcePlace | None) -> None:
    """More banks than elements: a dimension gets a bank an element, and the user hears of it."""
    shape = _static_shape(buffer, place)
    most = max(shape) if dim == 0 else shape[dim - 1]
    if factor > most:
        where = f"{place}: " if place else ""
        which = "every dimension" if dim == 0 else f"dimension {dim}"
        warnings.warn(
            f"{where}{buffer.name} is to have {factor} banks along {which}, but has {most} elements "
            f"there: it gets {most} banks.",
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


def _note(s: ScheduleState, buffer: FoundBuffer, dim: int, kind: Partition, factor: int) -> None:
    key = f"{buffer.func}:{buffer.name}"
    entry = (dim, kind, factor)
    s.partitioned_arrays[key] = [*s.partitioned_arrays.get(key, ()), entry]


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
