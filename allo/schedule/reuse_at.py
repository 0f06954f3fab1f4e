"""``reuse_at``: keep a sliding window of an array in a small buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    LoopSpec,
    body_operations,
    build_loop,
    induction_variable,
    inner_point,
    is_affine_loop,
    is_loop,
    make_loop,
    spec_of,
    walk,
)
from allo.dialects.affine.maps import BoundMap, Condition, bound_map, constant_map, replace_index
from allo.dialects.affine.ranges import value_range
from allo.dialects.diagnostics import ScheduleError
from allo.dialects.effects import EffectAnalysis
from allo.dialects.locations import place_of

from .buffers import (
    Part,
    add_index,
    alloc,
    declared_attributes,
    fresh_name,
    join_maps,
    linear_map,
    load,
    redirect,
    split_subscripts,
    store,
)
from .handles import Axis, Buffer, MockBuffer
from .merge_update import merge_update
from .primitive import primitive
from .resolve import FoundBuffer, FoundLoop, find_buffer, find_loop

if TYPE_CHECKING:
    from .schedule import Schedule


@dataclass(frozen=True, slots=True)
class Kept:
    """A dimension the buffer keeps whole, of which elements ``low`` to ``high - 1`` are read.

    Attributes:
        depth: place of the outermost loop that walks along it; None where its subscripts are constants.
    """

    dim: int
    low: int
    high: int
    depth: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """What an iteration of the axis reads of the array.

    Attributes:
        dim: the dimension that slides with the axis; ``low`` its first element relative to the
            axis, ``size`` how many.
        kept: the other dimensions that move inside the axis, which the buffer keeps whole.
        parts: subscripts of one access, for the dimensions that stay fixed inside.
        base: what outer loops add to the sliding subscript.
    """

    dim: int
    low: int
    size: int
    kept: tuple[Kept, ...]
    parts: tuple[Part, ...]
    base: BoundMap


@primitive
def reuse_at(s: Schedule, target: Buffer, axis: Axis) -> MockBuffer:
    """Read each element of ``target`` once, and keep what later iterations of ``axis`` read again.

    ::

        LB = s.reuse_at(s.A, "y")

        for y in range(8):                   for y in range(10):
            for x in range(8):                   for x in range(10):  shift LB up; LB[2, x] = A[y, x]
                for r, c: … A[y+r, x+c]  ──▶     if y >= 2:
                                                     for x in range(8):
                                                         for r, c: … LB[r, x+c]

    The axis runs as many iterations longer as the window needs to fill; the body runs once it is
    full. ``s.reuse_at(LB, "x")`` then makes a window buffer, and the line buffer is filled in the
    same loop, so that both run as one pipeline.

    Returns:
        The handle of the new buffer, ``<band>_reuse_<n>``.

    Raises:
        ScheduleError: the array does not slide by one element an iteration, is written in the
            loop, or is accessed by other than affine subscripts.
    """
    buffer = find_buffer(s.module, s.top_func_name, target, "reuse_at")
    loop = find_loop(s.module, s.top_func_name, axis, "reuse_at")
    bounds = _checked_bounds(loop, buffer)
    accesses = _reads(s, loop, buffer)
    window = _window(loop, buffer, accesses)
    name = _next_name(loop)
    longer = _rewrite(loop, buffer, accesses, window, bounds, name)
    merge_update(s.module, longer)
    return MockBuffer(loop.func, name)


def _fail(loop: FoundLoop, buffer: FoundBuffer, why: str, help: str) -> ScheduleError:
    return ScheduleError(
        f"reuse_at: Reuse buffer not found for {buffer.name} at loop {loop.name}: {why}.",
        place_of(loop.op),
        help=help,
    )


def _checked_bounds(loop: FoundLoop, buffer: FoundBuffer) -> tuple[int, int]:
    if buffer.function != loop.function:
        raise _fail(
            loop, buffer, f"the array is of function {buffer.func}", "name both in one function."
        )
    bounds = spec_of(loop.op).constant_bounds() if is_affine_loop(loop.op) else None
    if bounds is None or spec_of(loop.op).step != 1:
        raise _fail(
            loop,
            buffer,
            "the loop needs constant bounds and a step of 1",
            "choose the loop the window slides over.",
        )
    return bounds


def _reads(s: Schedule, loop: FoundLoop, buffer: FoundBuffer) -> list[ir.Operation]:
    effects = EffectAnalysis(s.module.operation)
    key = effects.memory_of(buffer.value).key
    found: list[ir.Operation] = []
    for op in walk(loop.op):
        touching = [e for e in effects.effects_of(op) if e.memory.key == key]
        if not touching:
            continue
        if any(e.writes for e in touching):
            raise _fail(
                loop,
                buffer,
                "the array is written inside the loop",
                "a reuse buffer serves arrays that the nest only reads.",
            )
        if op.name != "affine.load" or op.operands[0] != buffer.value:
            raise _fail(
                loop,
                buffer,
                f"a {op.name} uses it by other than affine subscripts",
                "only affine element reads can be redirected.",
            )
        found.append(op)
    if not found:
        raise _fail(loop, buffer, "the loop does not read it", "choose the loop that reads it.")
    return found


def _window(loop: FoundLoop, buffer: FoundBuffer, accesses: Sequence[ir.Operation]) -> Window:
    iv = induction_variable(loop.op)
    inner = {induction_variable(op) for op in walk(loop.op) if is_loop(op) and is_affine_loop(op)}
    rows = [split_subscripts(bound_map(op), {*inner, iv}) for op in accesses]
    if any(row is None for row in rows):
        raise _fail(
            loop,
            buffer,
            "a subscript is not a sum of loop indices",
            "subscripts with // or % cannot slide.",
        )
    known = [row for row in rows if row is not None]
    sliding = {
        k
        for row in known
        for k, part in enumerate(row)
        if any(v == iv for v, _ in part.coefficients)
    }
    if len(sliding) != 1:
        raise _fail(
            loop,
            buffer,
            f"{len(sliding)} of its subscripts move with the loop, exactly one must",
            "choose a loop that indexes one dimension of the array.",
        )
    dim = sliding.pop()
    slides = [row[dim] for row in known]
    base = _base(loop, buffer, slides)
    low, high = _slide_range(loop, buffer, slides, iv)
    if low == high:
        raise _fail(
            loop,
            buffer,
            "no element is read by two iterations",
            "reuse needs a window larger than one, such as A[y + r] with an inner loop r.",
        )
    kept = tuple(
        _kept(loop, known, k, buffer.type.get_dim_size(k))
        for k in range(len(known[0]))
        if k != dim and _varies(known, k)
    )
    return Window(dim, low, high - low + 1, kept, tuple(known[0]), base)


def _kept(loop: FoundLoop, rows: Sequence[Sequence[Part]], k: int, size: int) -> Kept:
    order = {induction_variable(op): n for n, op in enumerate(walk(loop.op)) if is_affine_loop(op)}
    depths = [order[v] for row in rows for v, _ in row[k].coefficients]
    depth = min(depths, default=None)
    low, high = size, 0
    for row in rows:
        constant, around = row[k].outer.constant(), value_range(row[k].coefficients)
        if constant is None or around is None:
            return Kept(k, 0, size, depth)
        low, high = min(low, constant + around[0]), max(high, constant + around[1] + 1)
    # A condition may keep a subscript inside the array where its range is not.
    return Kept(k, max(low, 0), min(high, size), depth)


def _base(loop: FoundLoop, buffer: FoundBuffer, parts: Sequence[Part]) -> BoundMap:
    if all(part.outer.constant() is not None for part in parts):
        return constant_map(0)
    first = parts[0].outer
    if any(p.outer.map != first.map or p.outer.operands != first.operands for p in parts):
        raise _fail(
            loop,
            buffer,
            "its reads differ in the part of the sliding subscript that the loop fixes",
            "use reuse_at at a loop around all that the reads share.",
        )
    return first


def _slide_range(
    loop: FoundLoop, buffer: FoundBuffer, parts: Sequence[Part], iv: ir.Value
) -> tuple[int, int]:
    lows, highs = [], []
    for part in parts:
        step = sum(c for v, c in part.coefficients if v == iv)
        constant = part.outer.constant() or 0
        around = value_range([(v, c) for v, c in part.coefficients if v != iv])
        if step != 1 or around is None:
            raise _fail(
                loop,
                buffer,
                "its window does not slide by exactly one element an iteration",
                "the subscript must be the loop's index plus inner indices and a constant.",
            )
        lows.append(around[0] + constant)
        highs.append(around[1] + constant)
    return min(lows), max(highs)


def _varies(rows: Sequence[Sequence[Part]], k: int) -> bool:
    """Whether dimension ``k`` is read at several places in one iteration: the buffer keeps it whole."""
    first = rows[0][k].outer
    return any(
        row[k].coefficients
        or row[k].outer.map != first.map
        or row[k].outer.operands != first.operands
        for row in rows
    )


def _next_name(loop: FoundLoop) -> str:
    number = 0
    while fresh_name(loop.function, wanted := f"{loop.band.name}_reuse_{number}") != wanted:
        number += 1
    return wanted


def _rewrite(
    loop: FoundLoop,
    buffer: FoundBuffer,
    accesses: Sequence[ir.Operation],
    window: Window,
    bounds: tuple[int, int],
    name: str,
) -> ir.Operation:
    op, iv = loop.op, induction_variable(loop.op)
    location = accesses[0].location
    shape = [window.size, *(buffer.type.get_dim_size(kept.dim) for kept in window.kept)]
    kind = ir.MemRefType.get(shape, buffer.type.element_type)
    attributes = declared_attributes(loop.function, buffer.value)
    made = alloc(kind, name, attributes, location, ir.InsertionPoint(op))
    _redirect_reads(op, iv, accesses, window, made, name)
    spec = spec_of(op)
    fill = window.size - 1
    longer = LoopSpec(spec.lower, constant_map(bounds[1] + fill), 1, spec.attributes, spec.location)
    outer = build_loop(longer, ir.InsertionPoint(op))
    _shift_and_load(loop, buffer, window, outer, made, name, fill, location)
    _guarded_body(op, iv, outer, bounds[0] + fill, fill)
    op.erase()
    return outer


def _redirect_reads(
    loop: ir.Operation,
    iv: ir.Value,
    accesses: Sequence[ir.Operation],
    window: Window,
    made: ir.Value,
    name: str,
) -> None:
    inner = {induction_variable(op) for op in walk(loop) if is_loop(op) and is_affine_loop(op)}
    for op in accesses:
        bound = bound_map(op)
        parts = split_subscripts(bound, {*inner, iv}) or []
        slide = parts[window.dim]
        terms = [(v, c) for v, c in slide.coefficients if v != iv]
        position = linear_map(terms, (slide.outer.constant() or 0) - window.low)
        rest = [_single(bound, kept.dim) for kept in window.kept]
        redirect(op, made, join_maps([position, *rest]), name)


def _single(bound: BoundMap, position: int) -> BoundMap:
    results = [bound.map.results[position]]
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
        nest.append((k, make_loop(f"{loop.name}_reuse_{k.dim}", k.low, k.high, location, ip)))
        ip = inner_point(nest[-1][1])
    if nest:
        interval = ir.IntegerAttr.get(ir.IntegerType.get_unsigned(32), 1)
        nest[max(len(walked), 1) - 1][1].attributes["pipeline_ii"] = interval
    return nest


def _shift_and_load(
    loop: FoundLoop,
    buffer: FoundBuffer,
    window: Window,
    outer: ir.Operation,
    made: ir.Value,
    name: str,
    fill: int,
    location: ir.Location,
) -> None:
    nest = _fill_nest(loop, window.kept, inner_point(outer), location)
    ip = inner_point(nest[-1][1] if nest else outer)
    by_dim = {kept.dim: linear_map([(induction_variable(op), 1)], 0) for kept, op in nest}
    indices = [by_dim[kept.dim] for kept in window.kept]
    for row in range(fill):
        value = load(made, join_maps([constant_map(row + 1), *indices]), name, location, ip)
        store(value, made, join_maps([constant_map(row), *indices]), name, location, ip)
    iv = induction_variable(outer)
    subscripts = []
    for k, part in enumerate(window.parts):
        if k == window.dim:
            # The original iteration that first reads the newest row is `fill` before this one.
            subscripts.append(add_index(window.base, iv, window.low))
        elif k in by_dim:
            subscripts.append(by_dim[k])
        else:
            subscripts.append(add_index(part.outer, None))
    value = load(buffer.value, join_maps(subscripts), buffer.name, location, ip)
    store(value, made, join_maps([constant_map(fill), *indices]), name, location, ip)


def _guarded_body(
    old: ir.Operation, iv: ir.Value, outer: ir.Operation, first: int, fill: int
) -> None:
    new_iv = induction_variable(outer)
    condition = Condition(linear_map([(new_iv, 1)], -first), (False,))
    guard = ir.Operation.create(
        "affine.if",
        operands=list(condition.exprs.operands),
        attributes={"condition": condition.attribute()},
        regions=2,
        loc=old.location,
        ip=inner_point(outer),
    )
    block = guard.regions[0].blocks.append()
    end = ir.Operation.create("affine.yield", loc=old.location, ip=ir.InsertionPoint(block))
    for op in body_operations(old):
        op.move_before(end)
    replace_index(iv, linear_map([(new_iv, 1)], -fill))
