"""``buffer_at``: accumulate in a small local buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    constant_difference,
    induction_variable,
    is_affine_loop,
    is_defined_inside,
    is_loop,
    parent_of,
    spec_of,
    string_attribute,
    terminator,
    walk,
)
from allo.dialects.affine.maps import BoundMap, bound_map
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.dialects.ranges.indices import value_range
from allo.schedule.analysis.buffers import (
    Part,
    alloc,
    common_block,
    declared_attributes,
    fresh_name,
    join_maps,
    linear_map,
    redirect,
    split_subscripts,
)
from allo.schedule.analysis.initial import initial_constant, meets_box
from allo.schedule.handles import Axis, Buffer, MockBuffer
from allo.schedule.primitive import primitive
from allo.schedule.resolve import FoundBuffer, FoundLoop, find_buffer, find_loop
from allo.schedule.state import ScheduleState

from .copies import BufferDim, copy_nest
from .feed import feed_along, is_operand


@dataclass(frozen=True, slots=True)
class Use:
    """One access of the buffered elements.

    Attributes:
        parts: its subscripts as the part the loop fixes and the part that moves inside.
        gaps: how far each fixed part is from that of the store that names the elements.
    """

    op: ir.Operation
    parts: tuple[Part, ...]
    gaps: tuple[int, ...]


@primitive
def buffer_at(s: ScheduleState, target: Buffer, axis: Axis) -> MockBuffer:
    """Accumulate ``target`` in a local buffer that lives for one iteration of ``axis``.

    ::

        s.buffer_at(s.C, "i")

        for i:                             for i:
            for k:                             C_row: T[N]
                for j:                         for j_init:  C_row[j] = C[i, j]
                    C[i, j] += …     ──▶       for k:
                                                   for j:
                                                       C_row[j] += …
                                               for j_back:  C[i, j] = C_row[j]

    The initialisation reads ``target``, or stores the constant it is known to hold there (and the
    fill that set it goes, when every element is written back). Where nothing is summed, and each
    iteration surely stores every element, there is no initialisation: the buffer collects a row
    before it is written. Both new loops are pipelined with an interval of 1; where the inner loop
    is marked for complete unrolling they copy as many elements at once (``j_init`` around an
    unrolled ``j_init.inner``). Where no loop inside moves over the array, the buffer is one element.

    Of an operand of a product it is ``feed``: published programs spell that so. They name the loop
    along which the operand passes, or the other outer loop, which has a FIFO for each iteration.

    Returns:
        The handle of the new buffer, ``<target>_row`` or ``<target>_fifo``.

    Raises:
        ScheduleError: ``axis`` is the innermost loop or one summed over, or ``target`` is not
            stored to inside, or not accessed by affine subscripts alone.
    """
    buffer = find_buffer(s.module, s.top_func_name, target, "buffer_at")
    loop = find_loop(s.module, s.top_func_name, axis, "buffer_at")
    if is_operand(loop.band, buffer.value):
        return feed_along(s, loop, buffer, either=True)
    _check_axis(loop, buffer)
    accesses = _accesses(s, loop, buffer)
    inner = [op for op in walk(loop.op) if is_loop(op)]
    variables = {induction_variable(op): op for op in inner if is_affine_loop(op)}
    parts = _stored_parts(loop, buffer, accesses, variables)
    _check_place(loop, buffer, parts)
    uses, others = _sort_uses(loop, buffer, accesses, parts, variables)
    stores = [use for use in uses if use.op.name == "affine.store"]
    stored = _box(_buffer_dims(loop, buffer, stores, variables))
    # A load that never meets what the loop stores goes on reading the array.
    uses = [u for u in uses if u in stores or meets_box(u.op, loop.op, parts, stored)]
    dims = _buffer_dims(loop, buffer, uses, variables)
    box = _box(dims)
    if any(meets_box(op, loop.op, parts, box) for op in others):
        raise _fail(
            loop,
            buffer,
            "an access inside it may touch an element of the buffer by another subscript",
            "buffer at a loop around all that the accesses share.",
        )
    initial = initial_constant(s.module, buffer, loop.op, parts, box)
    name = fresh_name(loop.function, f"{buffer.name}_row")
    _rewrite(loop, buffer, uses, parts, dims, name, initial.constant if initial else None)
    if initial is not None and initial.fill is not None:
        initial.fill.erase()
    return MockBuffer(loop.func, name)


def _fail(loop: FoundLoop, buffer: FoundBuffer, why: str, help: str) -> ScheduleError:
    return ScheduleError(
        f"buffer_at: cannot buffer {buffer.name} at loop {loop.name}: {why}.",
        place_of(loop.op),
        help=help,
    )


def _check_axis(loop: FoundLoop, buffer: FoundBuffer) -> None:
    if not is_affine_loop(loop.op):
        raise _fail(loop, buffer, "its bounds are not affine", "choose a loop of affine bounds.")
    if buffer.function != loop.function:
        raise _fail(
            loop,
            buffer,
            f"the array is of function {buffer.func}, the loop of {loop.func}",
            "name both in one function.",
        )
    if not any(is_loop(op) for op in walk(loop.op)):
        raise _fail(
            loop,
            buffer,
            "it is the innermost loop",
            "choose a loop with the accumulation's loops inside.",
        )


def _accesses(s: ScheduleState, loop: FoundLoop, buffer: FoundBuffer) -> list[ir.Operation]:
    effects = EffectAnalysis(s.module.operation)
    key = effects.memory_of(buffer.value).key
    found: list[ir.Operation] = []
    for op in walk(loop.op):
        touching = effects.effects_on(op, key)
        if not touching:
            continue
        if any(isinstance(e.value, ir.BlockArgument) and e.value != buffer.value for e in touching):
            raise _fail(
                loop,
                buffer,
                f"{op.name} inside it uses the same array by another name: a call passes it twice",
                "give the function one parameter for it.",
            )
        if op.name not in ("affine.load", "affine.store"):
            raise _fail(
                loop,
                buffer,
                f"{op.name} inside it uses the array as a whole or by a subscript that is not affine",
                "only plain element accesses with affine subscripts can be redirected.",
            )
        found.append(op)
    if not found:
        raise _fail(
            loop, buffer, "the array is not used inside it", "choose a loop around its accesses."
        )
    if not any(op.name == "affine.store" for op in found):
        raise _fail(
            loop,
            buffer,
            "nothing is stored to the array inside it",
            "buffer_at buffers an accumulation; use reuse_at for arrays that are read.",
        )
    return found


def _stored_parts(
    loop: FoundLoop,
    buffer: FoundBuffer,
    accesses: Sequence[ir.Operation],
    variables: dict[ir.Value, ir.Operation],
) -> list[Part]:
    """The subscripts of the first store, by parts: they say which elements the buffer holds."""
    store_op = next(op for op in accesses if op.name == "affine.store")
    parts = split_subscripts(bound_map(store_op), variables)
    if parts is None or any(_uses_inside(p.outer, loop.op) for p in parts):
        raise _fail(
            loop,
            buffer,
            "a subscript is not a sum of loop indices",
            "subscripts with // or % of inner loops cannot be buffered.",
        )
    return parts


def _sort_uses(
    loop: FoundLoop,
    buffer: FoundBuffer,
    accesses: Sequence[ir.Operation],
    parts: Sequence[Part],
    variables: dict[ir.Value, ir.Operation],
) -> tuple[list[Use], list[ir.Operation]]:
    """Accesses of the buffered elements, and accesses of the array by unrelated subscripts."""
    uses: list[Use] = []
    others: list[ir.Operation] = []
    for op in accesses:
        own = split_subscripts(bound_map(op), variables)
        gaps = None if own is None else _gaps(own, parts)
        if own is None or gaps is None:
            others.append(op)
        else:
            uses.append(Use(op, tuple(own), gaps))
    if any(op.name == "affine.store" for op in others):
        raise _fail(
            loop,
            buffer,
            "its stores differ in the part that the loop fixes",
            "buffer at an outer loop, around all that the stores share.",
        )
    return uses, others


def _gaps(own: Sequence[Part], parts: Sequence[Part]) -> tuple[int, ...] | None:
    gaps = []
    for mine, base in zip(own, parts, strict=True):
        gap = constant_difference(mine.outer, base.outer)
        if gap is None or (gap and not mine.coefficients and not base.coefficients):
            return None
        gaps.append(gap)
    return tuple(gaps)


def _uses_inside(bound: BoundMap, op: ir.Operation) -> bool:
    own = induction_variable(op)
    return any(v != own and is_defined_inside(v, op) for v in bound.operands)


def _check_place(loop: FoundLoop, buffer: FoundBuffer, parts: Sequence[Part]) -> None:
    own = induction_variable(loop.op)
    if not any(own in p.outer.operands for p in parts):
        raise _fail(
            loop,
            buffer,
            "it is a loop the array is summed over",
            "choose a loop that appears in the array's subscripts.",
        )


def _buffer_dims(
    loop: FoundLoop,
    buffer: FoundBuffer,
    uses: Sequence[Use],
    variables: dict[ir.Value, ir.Operation],
) -> list[BufferDim]:
    dims = []
    for position in range(buffer.type.rank):
        moving = [u.parts[position] for u in uses if u.parts[position].coefficients]
        if not moving:
            continue
        ranges = [value_range(u.parts[position].coefficients) for u in uses]
        known = [r for r in ranges if r is not None]
        if len(known) < len(ranges):
            raise _fail(
                loop,
                buffer,
                "the extent of an inner loop is unknown",
                "loops that index the array need bounds that are constants or affine.",
            )
        gaps = [u.gaps[position] for u in uses]
        low = min(r[0] + gap for r, gap in zip(known, gaps, strict=True))
        high = max(r[1] + gap for r, gap in zip(known, gaps, strict=True))
        name = string_attribute(variables[moving[0].coefficients[0][0]], "loop_name") or "loop"
        if len(moving[0].coefficients) > 1:
            name = name.removesuffix(".outer").removesuffix(".inner")
        lanes = _lanes(moving[0], variables)
        dims.append(BufferDim(position, low, high - low + 1, name, lanes))
    return dims


def _box(dims: Sequence[BufferDim]) -> list[tuple[int, int, int]]:
    """What a buffer holds, as `meets_box` takes it."""
    return [(d.position, d.low, d.extent) for d in dims]


def _lanes(part: Part, variables: dict[ir.Value, ir.Operation]) -> int:
    """The extent of the completely unrolled loop that takes neighbouring elements, or 1."""
    for value, coefficient in part.coefficients:
        op = variables[value]
        if coefficient != 1 or "unroll" not in op.attributes:
            continue
        if ir.IntegerAttr(op.attributes["unroll"]).value == 0:
            return spec_of(op).trip_count() or 1
    return 1


def _all_stored(loop: FoundLoop, uses: Sequence[Use], dims: Sequence[BufferDim]) -> bool:
    """Whether each iteration of the axis stores every element of the buffer, and reads none of them."""
    return all(use.op.name == "affine.store" for use in uses) and any(
        _stores_all(loop.op, use, dims) for use in uses
    )


def _stores_all(axis: ir.Operation, use: Use, dims: Sequence[BufferDim]) -> bool:
    """Whether one store surely runs for each element: a loop for each dimension walks its extent."""
    around: dict[ir.Value, tuple[int, int]] = {}
    op = parent_of(use.op)
    while op is not None and op != axis:
        bounds = spec_of(op).constant_bounds() if is_affine_loop(op) else None
        if bounds is None or bounds[0] >= bounds[1] or spec_of(op).step != 1:
            return False
        around[induction_variable(op)] = bounds
        op = parent_of(op)
    walked: set[ir.Value] = set()
    for dim in dims:
        terms = use.parts[dim.position].coefficients
        if len(terms) != 1 or terms[0][1] != 1 or terms[0][0] in walked:
            return False
        walked.add(terms[0][0])
        gap = use.gaps[dim.position]
        low, high = around.get(terms[0][0], (0, 0))
        if (low + gap, high + gap) != (dim.low, dim.low + dim.extent):
            return False
    return True


def _rewrite(
    loop: FoundLoop,
    buffer: FoundBuffer,
    uses: Sequence[Use],
    parts: Sequence[Part],
    dims: Sequence[BufferDim],
    name: str,
    constant: ir.Attribute | None,
) -> None:
    kind = ir.MemRefType.get([d.extent for d in dims], buffer.type.element_type)
    location = next(u.op for u in uses if u.op.name == "affine.store").location
    block = common_block(loop.op, [use.op for use in uses])
    start = ir.InsertionPoint.at_block_begin(block)
    attributes = declared_attributes(loop.function, buffer.value)
    row = alloc(kind, name, attributes, _origin_location(buffer, location), start)
    end = ir.InsertionPoint(terminator(block))
    all_stored = _all_stored(loop, uses, dims)
    for use in uses:
        index = join_maps(
            [
                linear_map(use.parts[d.position].coefficients, use.gaps[d.position] - d.low)
                for d in dims
            ]
        )
        redirect(use.op, row, index, name)
    if not all_stored:
        # What stood behind the allocation may have been an access, of which another one has taken the place.
        start = ir.InsertionPoint(block.operations[1])
        copy_nest(loop, buffer, row, name, parts, dims, "init", constant, location, start)
    copy_nest(loop, buffer, row, name, parts, dims, "back", None, location, end)


def _origin_location(buffer: FoundBuffer, fallback: ir.Location) -> ir.Location:
    if isinstance(buffer.value, ir.BlockArgument):
        return fallback
    return buffer.value.owner.operation.location
