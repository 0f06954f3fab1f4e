"""``reuse_at``: keep a sliding window of an array in a small buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    LoopSpec,
    body_operations,
    build_loop,
    induction_variable,
    inner_point,
    make_loop,
    spec_of,
    terminator,
)
from allo.dialects.affine.maps import BoundMap, bound_map, constant_map
from allo.dialects.affine.substitute import replace_index
from allo.dialects.ranges.indices import map_range
from allo.schedule.analysis.buffers import (
    Part,
    add_index,
    alloc,
    declared_attributes,
    fresh_name,
    join_maps,
    linear_map,
    load,
    make_guard,
    redirect,
    scaled,
    split_subscripts,
    store,
    sum_maps,
)
from allo.schedule.analysis.merge_update import loop_after, merge_update
from allo.schedule.analysis.sliding import (
    Kept,
    Window,
    accesses_of,
    anchor_of,
    constant_bounds,
    filled_before,
    first_read,
    indices_inside,
    offset_from,
    window_of,
    written_inside,
)
from allo.schedule.handles import Axis, Buffer, MockBuffer
from allo.schedule.primitive import primitive
from allo.schedule.resolve import FoundBuffer, FoundLoop, find_buffer, find_loop
from allo.schedule.state import ScheduleState


@primitive
def reuse_at(s: ScheduleState, target: Buffer, axis: Axis) -> MockBuffer:
    """Read each element of ``target`` once, and keep what later iterations of ``axis`` read again.

    ::

        LB = s.reuse_at(s.A, "y")

        for y in range(8):                   for y in range(10):
            for x in range(8):                   for x in range(10):  shift LB up; LB[2, x] = A[y, x]
                for r, c: … A[y+r, x+c]  ──▶     if y >= 2:
                                                     for x in range(8):
                                                         for r, c: … LB[r, x+c]

    The axis runs as many iterations longer as the window needs to fill, unless its body waits as
    long already; the body runs once the window is full. Where the subscript has a stride, as in
    ``A[2 * y + r]``, each iteration moves the buffer by that many rows and loads as many.
    ``s.reuse_at(LB, "x")`` then makes a window buffer, and the line buffer is filled in the same
    loop, so that both run as one pipeline.

    Returns:
        The handle of the new buffer, ``<band>_reuse_<n>``.

    Raises:
        ScheduleError: the array does not slide by a constant number of elements an iteration, no
            element is read by two of them, or it is written in the loop or accessed by other than
            affine subscripts.
    """
    buffer = find_buffer(s.module, s.top_func_name, target, "reuse_at")
    loop = find_loop(s.module, s.top_func_name, axis, "reuse_at")
    bounds = constant_bounds(loop, buffer)
    accesses = accesses_of(s.module, loop, buffer)
    window = window_of(loop, buffer, accesses.reads)
    anchor = anchor_of(loop.op, accesses.reads)
    start = first_read(accesses.reads, induction_variable(loop.op), bounds[0])
    waits = start - bounds[0] >= window.filling
    if accesses.filling and not (
        waits and filled_before(loop.op, anchor, window, accesses.filling)
    ):
        raise written_inside(loop, buffer)
    made = _make(loop, buffer, window, accesses.reads[0].location)
    if waits:
        # Another buffer or a condition already keeps the body waiting until the window is full.
        sliding = loop.op
        newest = _newest(window, sliding, 0)
        fill = _shift_and_load(loop, buffer, window, made, newest, ir.InsertionPoint(anchor))
        _redirect_reads(loop, accesses.reads, window, made)
    else:
        _redirect_reads(loop, accesses.reads, window, made)
        sliding = _lengthen(loop.op, bounds, window.filling)
        # The loop reads for the iteration that was ``filling`` before.
        newest = _newest(window, sliding, window.filling)
        ip = ir.InsertionPoint(body_operations(sliding)[0])
        fill = _shift_and_load(loop, buffer, window, made, newest, ip)
    merge_update(s.module, sliding)
    reader = None if fill is None else loop_after(fill)
    if reader is not None:
        merge_update(s.module, reader)
    return MockBuffer(loop.func, made.name)


def _newest(window: Window, sliding: ir.Operation, ahead: int) -> BoundMap:
    """The last element of the window that an iteration of ``sliding`` loads, ``ahead`` of its reads."""
    term = linear_map(
        [(induction_variable(sliding), window.step)], window.high - window.step * ahead
    )
    return sum_maps(window.base, term)


@dataclass(frozen=True, slots=True)
class _Made:
    """The new buffer."""

    name: str
    value: ir.Value
    location: ir.Location


def _make(loop: FoundLoop, buffer: FoundBuffer, window: Window, location: ir.Location) -> _Made:
    name = _next_name(loop)
    kept = [k.extent(buffer.type.get_dim_size(k.dim)) for k in window.kept]
    shape = [window.size, *kept]
    kind = ir.MemRefType.get(shape, buffer.type.element_type)
    attributes = declared_attributes(loop.function, buffer.value)
    value = alloc(kind, name, attributes, location, ir.InsertionPoint(loop.op))
    return _Made(name, value, location)


def _next_name(loop: FoundLoop) -> str:
    number = 0
    while fresh_name(loop.function, wanted := f"{loop.band.name}_reuse_{number}") != wanted:
        number += 1
    return wanted


def _lengthen(loop: ir.Operation, bounds: tuple[int, int], fill: int) -> ir.Operation:
    """The loop run ``fill`` iterations longer, its body kept waiting for as many."""
    spec = spec_of(loop)
    longer = LoopSpec(spec.lower, constant_map(bounds[1] + fill), 1, spec.attributes, spec.location)
    outer = build_loop(longer, ir.InsertionPoint(loop))
    iv = induction_variable(outer)
    guard = make_guard(
        [linear_map([(iv, 1)], -bounds[0] - fill)], loop.location, inner_point(outer)
    )
    end = terminator(guard.regions[0].blocks[0])
    for op in body_operations(loop):
        op.move_before(end)
    replace_index(induction_variable(loop), linear_map([(iv, 1)], -fill))
    loop.erase()
    return outer


def _redirect_reads(
    loop: FoundLoop, reads: Sequence[ir.Operation], window: Window, made: _Made
) -> None:
    iv, inner = induction_variable(loop.op), indices_inside(loop.op)
    for op in reads:
        bound = bound_map(op)
        parts = split_subscripts(bound, inner) or []
        slide = parts[window.dim]
        terms = [(v, c) for v, c in slide.coefficients if v != iv]
        position = linear_map(terms, offset_from(window.base, slide) - window.low)
        rest = [_kept_subscript(bound, parts, kept) for kept in window.kept]
        redirect(op, made.value, join_maps([position, *rest]), made.name)


def _kept_subscript(bound: BoundMap, parts: Sequence[Part], kept: Kept) -> BoundMap:
    part = parts[kept.dim]
    if kept.base is not None:
        return linear_map(part.coefficients, offset_from(kept.base, part) - kept.low)
    results = [bound.map.results[kept.dim]]
    made = ir.AffineMap.get(bound.map.n_dims, bound.map.n_symbols, results)
    return BoundMap(made, bound.operands)


def _fill_nest(
    loop: FoundLoop, kept: Sequence[Kept], ip: ir.InsertionPoint, location: ir.Location
) -> list[tuple[Kept, ir.Operation]]:
    """Loops over what each dimension's iterations read, nested as the loops that walk along them.

    Dimensions with constant subscripts come innermost and unroll inside the pipeline.
    """
    walked = sorted((k for k in kept if k.depth is not None), key=lambda k: k.depth or 0)
    constant = [k for k in kept if k.depth is None]
    nest: list[tuple[Kept, ir.Operation]] = []
    for k in [*walked, *constant]:
        low, high = (k.low, k.high) if k.base is None else (0, k.high - k.low)
        nest.append((k, make_loop(f"{loop.name}_reuse_{k.dim}", low, high, location, ip)))
        ip = inner_point(nest[-1][1])
    if nest:
        interval = ir.IntegerAttr.get(ir.IntegerType.get_unsigned(32), 1)
        nest[max(len(walked), 1) - 1][1].attributes["pipeline_ii"] = interval
    return nest


def _shift_and_load(
    loop: FoundLoop,
    buffer: FoundBuffer,
    window: Window,
    made: _Made,
    newest: BoundMap,
    ip: ir.InsertionPoint,
) -> ir.Operation | None:
    """Move the buffer up by the window's step and load as many rows, the last of them ``newest``.

    Returns:
        The loop that does so, if any.
    """
    name, value, location = made.name, made.value, made.location
    nest = _fill_nest(loop, window.kept, ip, location)
    ip = inner_point(nest[-1][1]) if nest else ip
    index_of = {kept.dim: induction_variable(op) for kept, op in nest}
    indices = [linear_map([(index_of[kept.dim], 1)], 0) for kept in window.kept]

    def row(number: int) -> BoundMap:
        return join_maps([constant_map(number), *indices])

    step, last = window.step, window.size - 1
    for number in range(window.size - step):
        moved = load(value, row(number + step), name, location, ip)
        store(moved, value, row(number), name, location, ip)
    subscripts = [add_index(part.outer, None) for part in window.parts]
    for kept in window.kept:
        base, low = (constant_map(0), 0) if kept.base is None else (kept.base, kept.low)
        subscripts[kept.dim] = add_index(base, index_of[kept.dim], low)
    for behind in range(step - 1, -1, -1):
        subscripts[window.dim] = add_index(newest, None, -behind)
        rows = [r for k, index in enumerate(subscripts) for r in _outside(index, buffer.type, k)]
        here = ip
        if rows:
            guard = make_guard(rows, location, ip)
            here = ir.InsertionPoint(terminator(guard.regions[0].blocks[0]))
        loaded = load(buffer.value, join_maps(subscripts), buffer.name, location, here)
        store(loaded, value, row(last - behind), name, location, here)
    return nest[0][1] if nest else None


def _outside(index: BoundMap, kind: ir.MemRefType, dim: int) -> list[BoundMap]:
    """What is negative where the subscript leaves the array, as before a border that is not read."""
    around, size = map_range(index), kind.get_dim_size(dim)
    rows = [index] if around is None or around[0] < 0 else []
    return [*rows, scaled(index, -1, size - 1)] if around is None or around[1] >= size else rows
