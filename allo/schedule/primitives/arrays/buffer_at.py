"""``buffer_at``: accumulate in a small local buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    body_of,
    constant_difference,
    induction_variable,
    inner_point,
    is_affine_loop,
    is_defined_inside,
    is_loop,
    make_loop,
    spec_of,
    string_attribute,
    terminator,
    walk,
)
from allo.dialects.affine.maps import BoundMap, bound_map
from allo.dialects.affine.ranges import value_range
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.analysis.buffers import (
    Part,
    add_index,
    alloc,
    box_bounds,
    common_block,
    declared_attributes,
    fresh_name,
    join_maps,
    linear_map,
    load,
    make_guard,
    outside_rows,
    redirect,
    split_subscripts,
    store,
)
from allo.schedule.analysis.initial import initial_constant, meets_box
from allo.schedule.handles import Axis, Buffer, MockBuffer
from allo.schedule.primitive import primitive
from allo.schedule.resolve import FoundBuffer, FoundLoop, find_buffer, find_loop
from allo.schedule.state import ScheduleState

from ..loops.split import split_loop
from .feed import feed_along, is_operand


@dataclass(frozen=True, slots=True)
class BufferDim:
    """One dimension of the new buffer.

    Attributes:
        position: the array's dimension it stands for.
        low: smallest inner part; ``extent`` elements from there.
        name: base name of the loops that walk it.
        lanes: how many neighbours a completely unrolled inner loop takes at once, 1 for none.
    """

    position: int
    low: int
    extent: int
    name: str
    lanes: int = 1


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
    fill that set it goes, when every element is written back). Both new loops are pipelined with
    an interval of 1; where the inner loop is marked for complete unrolling they copy as many
    elements at once (``j_init`` around an unrolled ``j_init.inner``).

    Of an operand of a product it is ``feed``: published programs spell that so.

    Returns:
        The handle of the new buffer, ``<target>_row`` or ``<target>_fifo``.

    Raises:
        ScheduleError: ``axis`` is the innermost loop or one summed over, no loop inside is summed
            over, or ``target`` is not accessed by affine subscripts alone.
    """
    buffer = find_buffer(s.module, s.top_func_name, target, "buffer_at")
    loop = find_loop(s.module, s.top_func_name, axis, "buffer_at")
    if is_operand(loop.band, buffer.value):
        return feed_along(s, loop, buffer)
    _check_axis(loop, buffer)
    accesses = _accesses(s, loop, buffer)
    inner = [op for op in walk(loop.op) if is_loop(op)]
    variables = {induction_variable(op): op for op in inner if is_affine_loop(op)}
    parts = _stored_parts(loop, buffer, accesses, variables)
    _check_reduction(loop, buffer, parts, inner)
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
    memory = effects.memory_of(buffer.value)
    found: list[ir.Operation] = []
    for op in walk(loop.op):
        touching = [e for e in effects.effects_of(op) if e.memory.key == memory.key]
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


def _check_reduction(
    loop: FoundLoop, buffer: FoundBuffer, parts: Sequence[Part], inner: Sequence[ir.Operation]
) -> None:
    moving = {v for p in parts for v, _ in p.coefficients}
    own = induction_variable(loop.op)
    if not any(own in p.outer.operands for p in parts):
        raise _fail(
            loop,
            buffer,
            "it is a loop the array is summed over",
            "choose a loop that appears in the array's subscripts.",
        )
    if all(is_affine_loop(op) and induction_variable(op) in moving for op in inner):
        raise _fail(
            loop,
            buffer,
            "no loop inside it sums over the array",
            "buffer_at serves accumulations; without one a buffer only adds copies.",
        )
    if not moving:
        raise _fail(
            loop,
            buffer,
            "no loop inside it moves over the array",
            "reorder the loops so that the summed loop is outside, or choose an outer loop.",
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
    start = ir.InsertionPoint(block.operations[1])
    for use in uses:
        index = join_maps(
            [
                linear_map(use.parts[d.position].coefficients, use.gaps[d.position] - d.low)
                for d in dims
            ]
        )
        redirect(use.op, row, index, name)
    _copy_nest(loop, buffer, row, name, parts, dims, "init", constant, location, start)
    _copy_nest(loop, buffer, row, name, parts, dims, "back", None, location, end)


def _origin_location(buffer: FoundBuffer, fallback: ir.Location) -> ir.Location:
    if isinstance(buffer.value, ir.BlockArgument):
        return fallback
    return buffer.value.owner.operation.location


def _copy_nest(
    loop: FoundLoop,
    buffer: FoundBuffer,
    row: ir.Value,
    name: str,
    parts: Sequence[Part],
    dims: Sequence[BufferDim],
    suffix: str,
    constant: ir.Attribute | None,
    location: ir.Location,
    ip: ir.InsertionPoint,
) -> None:
    element = buffer.type.element_type
    loops: list[ir.Operation] = []
    fixed = [k for k in range(len(parts)) if k not in [d.position for d in dims]]
    rows = [row for k in fixed for row in outside_rows(parts[k].outer, buffer.type, k, ip.block)]
    if rows:
        # Conditions further inside keep the accesses within the array, not this loop.
        guard = make_guard(rows, location, ip)
        ip = ir.InsertionPoint(terminator(guard.regions[0].blocks[0]))
    for dim in dims:
        low, high = box_bounds(
            parts[dim.position].outer, dim.low, dim.extent, buffer.type, dim.position
        )
        made = make_loop(f"{dim.name}_{suffix}", low, high, loop.op.location, ip)
        loops.append(made)
        ip = inner_point(made)
    interval = ir.IntegerAttr.get(ir.IntegerType.get_unsigned(32), 1)
    loops[-1].attributes["pipeline_ii"] = interval
    index = {
        d.position: (body_of(made).arguments[0], d.low) for d, made in zip(dims, loops, strict=True)
    }
    here = join_maps([linear_map([(body_of(made).arguments[0], 1)], 0) for made in loops])
    there = join_maps(
        [
            add_index(part.outer, *index.get(position, (None, 0)))
            for position, part in enumerate(parts)
        ]
    )
    if suffix == "back":
        value = load(row, here, name, location, ip)
        store(value, buffer.value, there, buffer.name, location, ip)
        _match_unrolling(loops[-1], dims[-1], f"{dims[-1].name}_{suffix}")
        return
    if constant is None:
        value = load(buffer.value, there, buffer.name, location, ip)
    else:
        made = ir.Operation.create(
            "arith.constant", results=[element], attributes={"value": constant}, loc=location, ip=ip
        )
        value = made.result
    store(value, row, here, name, location, ip)
    _match_unrolling(loops[-1], dims[-1], f"{dims[-1].name}_{suffix}")


def _match_unrolling(op: ir.Operation, dim: BufferDim, name: str) -> None:
    """Copy as many elements at once as the compute loop takes: ``j_init``, ``j_init.inner`` unrolled."""
    spec = spec_of(op)
    extent = spec.trip_count()
    if extent is None or not 1 < dim.lanes < extent:
        return
    outer, inner = split_loop(op, name, dim.lanes, 0, extent)
    outer.attributes["loop_name"] = ir.StringAttr.get(name)
    outer.attributes["pipeline_ii"] = inner.attributes["pipeline_ii"]
    del inner.attributes["pipeline_ii"]
    inner.attributes["unroll"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0)
