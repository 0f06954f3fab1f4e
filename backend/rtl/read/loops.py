"""The shape of loops: bounds, trip counts, perfect nests, what stands inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from allo.dialects.diagnostics import SourcePlace

from ..graph.linear import constant, subtract
from ..graph.nodes import Lin
from .records import FunctionRecord, MemType, Op
from .values.arithmetic import is_pure

if TYPE_CHECKING:
    from .values.arithmetic import Arithmetic
    from .values.builder import Bound

LOOPS = ("affine.for", "scf.for")
CONTROL = frozenset({"scf.while", "func.call", "linalg.fill", "memref.copy"})
NEVER_SMALL = CONTROL | {*LOOPS, "memref.get_global"}
SMALL = 32
"""Operations of a function that is elaborated wherever it is called."""


@dataclass(slots=True)
class LoopShape:
    """Bounds of a loop: from the largest of ``lowers`` to below the smallest of ``uppers``.

    ``trips`` is None where the bounds are not constant, or the step ``by`` is not; ``step`` is then 1.
    """

    lowers: list[Lin]
    uppers: list[Lin]
    lower: Lin
    upper: Lin
    by: Lin
    step: int
    trips: int | None


def contains_control(ops: list[Op], in_place: Callable[[Op], bool]) -> bool:
    """Whether code needs control of its own: loops that stay, whiles, calls, bulk moves."""
    for op in ops:
        if op.name in CONTROL and not (op.name == "func.call" and in_place(op)):
            return True
        if op.name in LOOPS and not in_place(op):
            return True
        if any(contains_control(region, in_place) for region in op.regions):
            return True
    return False


Held = tuple[str, SourcePlace | None]
_HELD = {
    "scf.while": "a while loop",
    "func.call": "a call",
    "linalg.fill": "a move of an array",
    "memref.copy": "a move of an array",
}


def held_control(ops: list[Op], in_place: Callable[[Op], bool]) -> Held | None:
    """The first operation for which :func:`contains_control` holds: what a user calls it, and where it is."""
    for op in ops:
        if contains_control([op], in_place):
            inner = [held_control(region, in_place) for region in op.regions]
            if op.name not in CONTROL | {*LOOPS}:
                return next((found for found in inner if found is not None), None)
            return _HELD.get(op.name, "a loop"), op.place
    return None


def is_small(function: FunctionRecord) -> bool:
    """Whether a function of scalars is little enough to stand wherever it is called.

    A call costs a few cycles, and what is around it neither overlaps nor shares its conditions.
    """
    types = (*function.arg_types, *function.result_types)
    if not function.ops or any(isinstance(kind, MemType) or "stream" in kind for kind in types):
        return False
    ops = [*_all_ops(function.ops)]
    return len(ops) <= SMALL and not any(op.name in NEVER_SMALL for op in ops)


def _all_ops(ops: list[Op]) -> Iterator[Op]:
    for op in ops:
        yield op
        for region in op.regions:
            yield from _all_ops(region)


def chain_of(op: Op, in_place: Callable[[Op], bool], slanted: Callable[[Op, Op], bool]) -> list[Op]:
    """The perfect nest that starts at a loop: loops whose body is one loop with bounds of outside.

    Where the innermost loop is asked to rewind, a bound may also be ``slanted`` by the loop around it.
    """
    chain = [op]
    straight = 0
    while True:
        current = chain[-1]
        if "pipeline_ii" in current.attrs or "unroll" in current.attrs:
            break
        rest = [o for o in current.regions[0] if not _invisible(o)]
        if len(rest) != 1 or rest[0].name not in LOOPS or in_place(rest[0]):
            break
        if not _bounds_from_outside(rest[0], chain):
            if not _bounded_by(rest[0], chain) or not slanted(current, rest[0]):
                break
            straight = straight or len(chain)
        chain.append(rest[0])
    if straight and not ("rewind" in chain[-1].attrs and all(map(_affine, chain))):
        return chain[:straight]
    return chain


def _affine(op: Op) -> bool:
    return op.name == "affine.for"


def _bounded_by(op: Op, chain: list[Op]) -> bool:
    """Whether an upper bound depends on the loop around, which has constant bounds, and on nothing else."""
    if op.name != "affine.for" or not _constant_bounds(chain[-1]):
        return False
    lower, upper, _ = op.attrs["operandSegmentSizes"]
    return not lower and upper == 1 and op.operands[0] == chain[-1].args[0][0]


@dataclass(slots=True)
class Nested:
    """A loop of a nest with the code before and after the loop inside it."""

    loop: Op
    before: list[Op]
    after: list[Op]


def imperfect_nest(op: Op, in_place: Callable[[Op], bool]) -> list[Nested] | None:
    """A nest of constant bounds around one pipelined loop, with little but scalar code between.

    None where code between the loops is more than moves, integer arithmetic and comparisons, because
    in one pipeline every iteration has room for it.
    """
    nest: list[Nested] = []
    while "pipeline_ii" not in op.attrs:
        if not _constant_bounds(op) or "unroll" in op.attrs:
            return None
        ops = op.regions[0]
        places = [i for i, o in enumerate(ops) if o.name in LOOPS]
        if len(places) != 1:
            return None
        before, inner, after = ops[: places[0]], ops[places[0]], ops[places[0] + 1 :]
        if not all(_is_light(o) for o in (*before, *after)):
            return None
        nest.append(Nested(op, before, after))
        op = inner
    if not nest or not _constant_bounds(op) or contains_control(op.regions[0], in_place):
        return None
    nest.append(Nested(op, [], []))
    return None if any(_changes_below(part) for part in nest[:-1]) else nest


def _changes_below(part: Nested) -> bool:
    """Whether an element loaded before the inner loop may change before its value is last used.

    One pipeline loads it again in every iteration, because a value lives for one iteration.
    """
    beyond = [*_all_ops(part.loop.regions[0][len(part.before) :])]
    for position, load in enumerate(part.before):
        if not load.name.endswith(".load"):
            continue
        derived = set(load.results)
        for op in part.before[position:]:
            if is_pure(op) and derived.intersection(op.operands):
                derived.update(op.results)
        if not any(derived.intersection(op.operands) for op in beyond):
            continue
        stores = (op for op in (*part.before[position:], *beyond) if op.name.endswith(".store"))
        if any(op.operands[1] == load.operands[0] for op in stores):
            return True
    return False


def _constant_bounds(op: Op) -> bool:
    return op.name == "affine.for" and not op.operands


def _is_light(op: Op) -> bool:
    if op.name in ("affine.load", "affine.store", "memref.load", "memref.store", "memref.alloc"):
        return True
    if op.name in ("affine.yield", "memref.dealloc", "arith.constant", "arith.select"):
        return True
    heavy = ("f", "divsi", "divui", "remsi", "remui", "muli")
    return is_pure(op) and not op.name.startswith("math.") and not op.name.endswith(heavy)


def _invisible(op: Op) -> bool:
    return is_pure(op) or op.name in ("affine.yield", "scf.yield", "memref.alloc", "memref.dealloc")


def _bounds_from_outside(op: Op, chain: list[Op]) -> bool:
    """Whether a loop's bounds are constant or made before the nest starts."""
    inside = {loop.args[0][0] for loop in chain}
    for loop in chain:
        inside.update(result for o in loop.regions[0] for result in o.results)
    return not inside.intersection(op.operands)


def shape_of(op: Op, env: dict[int, Bound], arithmetic: Arithmetic) -> LoopShape:
    """The bounds of an ``affine.for`` or ``scf.for``."""
    if op.name == "affine.for":
        first, second, _ = op.attrs["operandSegmentSizes"]
        values = [arithmetic.lin(env[o]) for o in op.operands]
        lowers = arithmetic.expressions(op.attrs["lowerBoundMap"], values[:first])
        uppers = arithmetic.expressions(op.attrs["upperBoundMap"], values[first : first + second])
        by = constant(op.attrs["step"])
    else:
        low, high, by = (arithmetic.lin(env[o]) for o in op.operands[:3])
        lowers, uppers = [low], [high]
    lower = arithmetic.extreme(lowers, smallest=False)
    upper = arithmetic.extreme(uppers, smallest=True)
    span = subtract(upper, lower)
    step = by.const if by.is_const else 1
    trips = max(0, -(-span.const // step)) if span.is_const and by.is_const else None
    return LoopShape(lowers, uppers, lower, upper, by, step, trips)
