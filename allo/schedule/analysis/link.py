"""``to`` along an axis of unfolded processes: an array of FIFOs between neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.core.alias import AliasClasses, has_views
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import refresh_types
from allo.dialects.diagnostics import IllegalTransformError, ScheduleError, SourcePlace
from allo.dialects.passes.fold_views import fold_views
from allo.dialects.streams.network import Network, StreamArray, stream_arrays
from allo.dialects.streams.processes import section_of
from allo.dialects.streams.space import StreamSpace, in_space

from ..handles import MockBuffer
from ..primitive import check_integer
from ..resolve import FoundBuffer, find_buffer
from ..state import ScheduleState


def link(s: ScheduleState, buffer: FoundBuffer, dst: Any, axis: int, depth: int) -> None:
    """Make ``buffer`` FIFOs that pass its elements from process to process along ``axis``.

    Raises:
        ScheduleError: no unfolded processes use the array, or ``dst`` and ``axis`` do not fit them.
        IllegalTransformError: an element is not written once and read once in one order, the FIFOs
            lead along another axis, or the depth is too small for the processes to come to an end.
    """
    axes = _checked_axes(buffer, dst, axis)
    if has_views(s.module):
        fold_views(s.module)
    buffer = find_buffer(s.module, s.top_func_name, MockBuffer(buffer.func, buffer.name), "to")
    place = place_of(buffer.value.owner.operation)
    if not buffer.type.has_static_shape:
        raise ScheduleError(
            f"to {buffer.name}: its extents are not all known.",
            place,
            help="declare its shape with numbers.",
        )
    if buffer.type.rank < len(axes):
        raise ScheduleError(
            f"to {buffer.name}: it has {buffer.type.rank} dimensions, and {len(axes)} of them must "
            "say between which processes a FIFO is.",
            place,
            help="declare it [processes…, processes along the axis + 1, elements].",
        )
    space = _space(s, buffer, axes, depth, place)
    network = _network(s, buffer, space)
    network.check_order()
    _check_axis(network, buffer, axes, axis, place)
    network.check_depths()
    mark(s.module, buffer, space)
    buffer.function.attributes["dataflow"] = ir.UnitAttr.get()


def mark(module: ir.Module, buffer: FoundBuffer, space: StreamSpace) -> None:
    """Give the array, wherever it goes, the type of FIFOs."""
    classes = AliasClasses(module.operation)
    for value in classes.members(buffer.value):
        value.set_type(in_space(ir.MemRefType(value.type), space))
    refresh_types(classes.functions.values())


def _checked_axes(buffer: FoundBuffer, dst: Any, axis: Any) -> list[int]:
    place = place_of(buffer.value.owner.operation)
    if isinstance(dst, str) or not isinstance(dst, Sequence) or not dst:
        raise ScheduleError(
            f"to {buffer.name}: with axis={axis} the destination is the list of unfolded axes, got "
            f"{dst!r}.",
            place,
            help='pe = s.unfold("PE", [0, 1]), then s.to(…, pe, axis=1, depth=…).',
        )
    axes = list(dst)
    if isinstance(axis, bool) or axis not in axes:
        raise ScheduleError(
            f"to {buffer.name}: axis {axis!r} is none of the unfolded axes {axes}.",
            place,
            help="axis is the one along which elements pass from process to process.",
        )
    return axes


def _space(
    s: ScheduleState, buffer: FoundBuffer, axes: list[int], depth: int, place: SourcePlace | None
) -> StreamSpace:
    labels = _labels(s, buffer, axes, place)
    whole = prod(
        extent for extent, label in zip(buffer.type.shape, labels, strict=True) if label == "T"
    )
    if depth == -1:
        return StreamSpace(max(1, whole), labels)
    what = f"to {buffer.name}: the depth"
    return StreamSpace(check_integer(depth, 1, what, "or -1 for all.", place), labels)


def _network(s: ScheduleState, buffer: FoundBuffer, space: StreamSpace) -> Network:
    """The processes, joined by the arrays that are FIFOs already and by this one."""
    others = [a for a in stream_arrays(buffer.function) if a.value != buffer.value]
    own = StreamArray(buffer.value, buffer.name, space)
    return Network(s.module.operation, buffer.function, [*others, own])


def _labels(
    s: ScheduleState, buffer: FoundBuffer, axes: list[int], place: SourcePlace | None
) -> str:
    """Spatial are the dimensions that each access in a process keeps at one index."""
    section = section_of(buffer.function, {buffer.value})
    unfolded = [n for n, p in enumerate(section.processes) if p.coordinates]
    if not unfolded:
        raise ScheduleError(
            f"to {buffer.name}: no unfolded processes use it.",
            place,
            help='replicate the nest that uses it first: pe = s.unfold("PE", [0, 1]).',
        )
    alone = StreamArray(buffer.value, buffer.name, StreamSpace(1))
    network = Network(s.module.operation, buffer.function, [alone])
    bands = {network.processes[n].band for n in unfolded}
    counts = {len(network.processes[n].coordinates) for n in unfolded}
    if len(bands) > 1 or counts != {len(axes)}:
        raise ScheduleError(
            f"to {buffer.name}: the processes that use it are of {' and '.join(sorted(bands))}, "
            f"unfolded on {max(counts)} axes, not of one nest unfolded on the axes {axes}.",
            place,
            help="pass what unfold returned for the nest whose processes pass the elements on.",
        )
    kept = set(range(buffer.type.rank))
    seen: dict[int, set[int]] = {d: set() for d in kept}
    for number in unfolded:
        first: dict[Any, tuple[int, ...]] = {}
        for step in network.steps[number]:
            base = first.setdefault(step.access, step.element)
            kept &= {d for d in kept if base[d] == step.element[d]}
            for d in kept:
                seen[d].add(step.element[d])
    ranked = sorted(kept, key=lambda d: (len(seen[d]) == 1, d))
    if len(ranked) < len(axes):
        raise IllegalTransformError(
            f"to {buffer.name}: of its {buffer.type.rank} dimensions only {len(ranked)} stay at one "
            f"index within a process, so they do not say which of the {len(axes)}-dimensional "
            "processes' FIFOs an element is in.",
            place,
            help="declare it [processes…, processes along the axis + 1, elements].",
        )
    spatial = set(ranked[: len(axes)])
    return "".join("S" if d in spatial else "T" for d in range(buffer.type.rank))


def _check_axis(
    network: Network, buffer: FoundBuffer, axes: list[int], axis: int, place: SourcePlace | None
) -> None:
    """Between two processes of the nest an element moves along ``axis`` only."""
    number = len(network.arrays) - 1
    for fifo, ends in network.ends.items():
        one, other = network.processes[ends.writer], network.processes[ends.reader]
        if fifo[0] != number or not one.coordinates or not other.coordinates:
            continue
        pairs = zip(one.coordinates, other.coordinates, strict=True)
        moved = [d for d, (a, b) in enumerate(pairs) if a != b]
        if moved != [axes.index(axis)]:
            raise IllegalTransformError(
                f"to {buffer.name}: {network.name(fifo)} leads from {one.name} to {other.name}, "
                f"which is not along axis {axis}.",
                place,
                help=f"pass axis={axes[moved[0]]}."
                if len(moved) == 1
                else "link neighbours along one axis.",
            )
