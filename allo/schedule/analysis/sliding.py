"""What a loop reads of an array while it slides along it, and where a buffer for that is filled."""

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
    walk,
)
from allo.dialects.affine.maps import BoundMap, bound_map, constant_map
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.dialects.ranges.indices import index_bounds, value_range, value_range_at

from ..resolve import FoundBuffer, FoundLoop
from .buffers import Part, split_subscripts


@dataclass(frozen=True, slots=True)
class Kept:
    """A dimension that moves inside the axis, of which elements ``low`` to ``high - 1`` are read.

    Attributes:
        base: what loops around the axis add to those; None where the buffer keeps the dimension whole.
        depth: place of the outermost loop that walks along it; None where its subscripts are constants.
    """

    dim: int
    low: int
    high: int
    base: BoundMap | None
    depth: int | None

    def extent(self, size: int) -> int:
        """Its extent in the buffer, where the array has ``size``."""
        return size if self.base is None else self.high - self.low


@dataclass(frozen=True, slots=True)
class Window:
    """What an iteration of the axis reads of the array.

    Attributes:
        dim: the dimension that slides with the axis; ``low`` its first element relative to
            ``step`` times the axis, ``size`` how many.
        kept: the other dimensions that move inside the axis.
        parts: subscripts of one access, for the dimensions that stay fixed inside.
        base: what outer loops add to the sliding subscript.
        step: elements that it slides by in an iteration.
    """

    dim: int
    low: int
    size: int
    kept: tuple[Kept, ...]
    parts: tuple[Part, ...]
    base: BoundMap
    step: int

    @property
    def high(self) -> int:
        """Its last element relative to ``step`` times the axis."""
        return self.low + self.size - 1

    @property
    def filling(self) -> int:
        """How many iterations pass before the one that first has a full window."""
        return (self.size - 1) // self.step


@dataclass(frozen=True, slots=True)
class Accesses:
    """What a loop does with an array.

    Attributes:
        reads: the loads to serve from a buffer.
        filling: loads and stores before them, where the loop itself fills the array.
    """

    reads: tuple[ir.Operation, ...]
    filling: tuple[ir.Operation, ...]


def fail(loop: FoundLoop, buffer: FoundBuffer, why: str, help: str) -> ScheduleError:
    """The refusal of ``reuse_at``."""
    return ScheduleError(
        f"reuse_at: Reuse buffer not found for {buffer.name} at loop {loop.name}: {why}.",
        place_of(loop.op),
        help=help,
    )


def written_inside(loop: FoundLoop, buffer: FoundBuffer) -> ScheduleError:
    """The refusal where reads and writes meet."""
    return fail(
        loop,
        buffer,
        "the array is written inside the loop",
        "a reuse buffer serves arrays that the nest only reads.",
    )


def constant_bounds(loop: FoundLoop, buffer: FoundBuffer) -> tuple[int, int]:
    """The axis's bounds.

    Raises:
        ScheduleError: they are not constant, or the array is of another function.
    """
    if buffer.function != loop.function:
        raise fail(
            loop, buffer, f"the array is of function {buffer.func}", "name both in one function."
        )
    bounds = spec_of(loop.op).constant_bounds() if is_affine_loop(loop.op) else None
    if bounds is None or spec_of(loop.op).step != 1:
        raise fail(
            loop,
            buffer,
            "the loop needs constant bounds and a step of 1",
            "choose the loop the window slides over.",
        )
    return bounds


def accesses_of(module: ir.Module, loop: FoundLoop, buffer: FoundBuffer) -> Accesses:
    """The loop's accesses of the array.

    Raises:
        ScheduleError: it reads nothing, or uses the array by other than affine subscripts.
    """
    effects = EffectAnalysis(module.operation)
    key = effects.memory_of(buffer.value).key
    found: list[ir.Operation] = []
    last_write = -1
    for op in walk(loop.op):
        touching = effects.effects_on(op, key)
        if not touching:
            continue
        writes = any(e.writes for e in touching)
        if op.name not in ("affine.load", "affine.store") or buffer.value not in op.operands:
            if writes:
                raise written_inside(loop, buffer)
            raise fail(
                loop,
                buffer,
                f"a {op.name} uses it by other than affine subscripts",
                "only affine element reads can be redirected.",
            )
        if writes:
            last_write = len(found)
        found.append(op)
    if not found:
        raise fail(loop, buffer, "the loop does not read it", "choose the loop that reads it.")
    reads, filling = found[last_write + 1 :], found[: last_write + 1]
    if not reads:
        raise written_inside(loop, buffer)
    return Accesses(tuple(reads), tuple(filling))


def window_of(loop: FoundLoop, buffer: FoundBuffer, reads: Sequence[ir.Operation]) -> Window:
    """What an iteration reads.

    Raises:
        ScheduleError: the array does not slide by a constant number of elements an iteration, or
            no element is read by two iterations.
    """
    iv = induction_variable(loop.op)
    inner = indices_inside(loop.op)
    rows = [split_subscripts(bound_map(op), inner) for op in reads]
    known = [row for row in rows if row is not None]
    if len(known) < len(rows):
        raise fail(
            loop,
            buffer,
            "a subscript is not a sum of loop indices",
            "subscripts with // or % cannot slide.",
        )
    sliding = {
        k
        for row in known
        for k, part in enumerate(row)
        if any(v == iv for v, _ in part.coefficients)
    }
    if len(sliding) != 1:
        raise fail(
            loop,
            buffer,
            f"{len(sliding)} of its subscripts move with the loop, exactly one must",
            "choose a loop that indexes one dimension of the array.",
        )
    dim = sliding.pop()
    slides = [row[dim] for row in known]
    base, offsets = _slide_base(loop, buffer, slides)
    step = _slide_step(loop, buffer, slides, iv)
    low, high = _slide_range(loop, buffer, slides, offsets, iv)
    if high - low < step:
        raise fail(
            loop,
            buffer,
            "no element is read by two iterations",
            f"reuse needs a window larger than {_counted(step)}, such as "
            f"{_example(buffer.name, step)} with an inner loop r.",
        )
    kept = tuple(
        _kept(loop, reads, known, k, buffer.type.get_dim_size(k))
        for k in range(len(known[0]))
        if k != dim and _varies(known, k)
    )
    return Window(dim, low, high - low + 1, kept, tuple(known[0]), base, step)


def indices_inside(loop: ir.Operation) -> set[ir.Value]:
    """The indices of a loop and of the loops in it."""
    inner = {induction_variable(op) for op in walk(loop) if is_loop(op) and is_affine_loop(op)}
    return {*inner, induction_variable(loop)}


def _kept(
    loop: FoundLoop,
    reads: Sequence[ir.Operation],
    rows: Sequence[Sequence[Part]],
    k: int,
    size: int,
) -> Kept:
    order = {induction_variable(op): n for n, op in enumerate(walk(loop.op)) if is_affine_loop(op)}
    depths = [order[v] for row in rows for v, _ in row[k].coefficients]
    depth = min(depths, default=None)
    base, offsets = _common([row[k] for row in rows])
    low, high = None, 0
    for op, row, offset in zip(reads, rows, offsets, strict=True):
        around = value_range_at(op, row[k].coefficients)
        if offset is None or around is None:
            return Kept(k, 0, size, None, depth)
        low = offset + around[0] if low is None else min(low, offset + around[0])
        high = max(high, offset + around[1] + 1)
    if base is not None:
        return Kept(k, low or 0, high, base, depth)
    # A condition may keep a subscript inside the array where its range is not.
    return Kept(k, max(low or 0, 0), min(high, size), None, depth)


def _common(parts: Sequence[Part]) -> tuple[BoundMap | None, list[int | None]]:
    """What the fixed parts of subscripts share, None for nothing, and how far each is from it."""
    constants = [part.outer.constant() for part in parts]
    if None not in constants:
        return None, constants
    base = parts[0].outer
    return base, [constant_difference(part.outer, base) for part in parts]


def _slide_base(
    loop: FoundLoop, buffer: FoundBuffer, parts: Sequence[Part]
) -> tuple[BoundMap, list[int]]:
    base, offsets = _common(parts)
    known = [offset for offset in offsets if offset is not None]
    if len(known) < len(parts):
        raise fail(
            loop,
            buffer,
            "its reads differ in the part of the sliding subscript that the loop fixes",
            "use reuse_at at a loop around all that the reads share.",
        )
    return constant_map(0) if base is None else base, known


def _slide_range(
    loop: FoundLoop,
    buffer: FoundBuffer,
    parts: Sequence[Part],
    offsets: Sequence[int],
    iv: ir.Value,
) -> tuple[int, int]:
    lows, highs = [], []
    for part, offset in zip(parts, offsets, strict=True):
        around = value_range([(v, c) for v, c in part.coefficients if v != iv])
        if around is None:
            raise fail(
                loop,
                buffer,
                "the extent of its window is not known",
                "loops inside that index the array need constant bounds.",
            )
        lows.append(around[0] + offset)
        highs.append(around[1] + offset)
    return min(lows), max(highs)


def _slide_step(loop: FoundLoop, buffer: FoundBuffer, parts: Sequence[Part], iv: ir.Value) -> int:
    """By how many elements the window slides an iteration."""
    steps = {sum(c for v, c in part.coefficients if v == iv) for part in parts}
    if len(steps) == 1 and min(steps) > 0:
        return steps.pop()
    found = " and ".join(str(step) for step in sorted(steps))
    raise fail(
        loop,
        buffer,
        f"its window does not slide by one positive number of elements an iteration, but by {found}",
        "the subscripts must be one multiple of the loop's index plus inner indices and a constant.",
    )


def _counted(number: int) -> str:
    return "one" if number == 1 else f"the stride of {number}"


def _example(name: str, step: int) -> str:
    return f"{name}[y + r]" if step == 1 else f"{name}[{step} * y + r]"


def offset_from(base: BoundMap, part: Part) -> int:
    """How far a subscript's fixed part is from a window's base, which it is known to share."""
    constant = part.outer.constant()
    if constant is not None and base.constant() is not None:
        return constant - (base.constant() or 0)
    return constant_difference(part.outer, base) or 0


def _varies(rows: Sequence[Sequence[Part]], k: int) -> bool:
    """Whether dimension ``k`` is read at several places in one iteration."""
    first = rows[0][k].outer
    return any(
        row[k].coefficients
        or row[k].outer.map != first.map
        or row[k].outer.operands != first.operands
        for row in rows
    )


def first_read(reads: Sequence[ir.Operation], iv: ir.Value, lower: int) -> int:
    """The first iteration of the axis in which conditions allow a read."""
    found = [index_bounds(op).get(iv, (None, None))[0] for op in reads]
    return max(lower, min(lower if low is None else low for low in found))


def anchor_of(loop: ir.Operation, reads: Sequence[ir.Operation]) -> ir.Operation:
    """The operation before which a buffer is filled: as near to the reads as each iteration passes."""
    above = loop
    while True:
        inside = [_child_towards(above, op) for op in reads]
        first = next(op.operation for op in inside[0].block.operations if op.operation in inside)
        one_branch = first.name == "affine.if" and all(op == first for op in inside)
        if not one_branch or any(is_defined_inside(v, loop) for v in first.operands):
            return first
        if any(len(list(block.operations)) > 1 for block in first.regions[1].blocks):
            return first
        above = first


def _child_towards(ancestor: ir.Operation, op: ir.Operation) -> ir.Operation:
    current = op
    while (parent := parent_of(current)) is not None and parent != ancestor:
        current = parent
    return current


def filled_before(
    loop: ir.Operation, anchor: ir.Operation, window: Window, filling: Sequence[ir.Operation]
) -> bool:
    """Whether the loop has filled all that a window needs of an array when it comes to ``anchor``.

    Told only of windows that slide by one element, as the rows that the loop fills do.
    """
    if window.step != 1:
        return False
    iv, inner = induction_variable(loop), indices_inside(loop)
    for op in filling:
        shared = anchor
        while (parent := parent_of(shared)) is not None and parent != loop:
            if _holds(parent, op):
                break
            shared = parent
        if (
            parent is None
            or _holds(shared, op)
            or not _precedes(_child_towards(parent, op), shared)
        ):
            return False
        parts = split_subscripts(bound_map(op), inner)
        slide = None if parts is None else parts[window.dim]
        ahead = None if slide is None else slide.outer.constant()
        if slide is None or slide.coefficients != ((iv, 1),) or ahead is None:
            return False
        if ahead < window.high:
            return False
    return True


def _holds(outer: ir.Operation, op: ir.Operation) -> bool:
    current: ir.Operation | None = op
    while current is not None and current != outer:
        current = parent_of(current)
    return current is not None


def _precedes(first: ir.Operation, second: ir.Operation) -> bool:
    order = [op.operation for op in first.block.operations]
    return second in order and order.index(first) < order.index(second)
