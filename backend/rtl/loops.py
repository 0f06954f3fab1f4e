"""The shape of loops: bounds, trip counts, perfect nests, what stands inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .arithmetic import is_pure
from .linear import Lin, subtract
from .read import Op

if TYPE_CHECKING:
    from .arithmetic import Arithmetic
    from .builder import Bound

LOOPS = ("affine.for", "scf.for")
CONTROL = frozenset({"scf.while", "func.call", "linalg.fill", "memref.copy"})


@dataclass(slots=True)
class LoopShape:
    """Bounds of a loop: from the largest of ``lowers`` to below the smallest of ``uppers``.

    ``trips`` is None where the bounds are not constant.
    """

    lowers: list[Lin]
    uppers: list[Lin]
    lower: Lin
    upper: Lin
    step: int
    trips: int | None


def contains_control(ops: list[Op], unrolls: Callable[[Op], bool]) -> bool:
    """Whether code needs control of its own: loops that stay, whiles, calls, bulk moves."""
    for op in ops:
        if op.name in CONTROL:
            return True
        if op.name in LOOPS and not unrolls(op):
            return True
        if any(contains_control(region, unrolls) for region in op.regions):
            return True
    return False


def chain_of(op: Op, unrolls: Callable[[Op], bool]) -> list[Op]:
    """The perfect nest that starts at a loop: loops whose body is one loop with bounds of outside."""
    chain = [op]
    while True:
        current = chain[-1]
        if "pipeline_ii" in current.attrs or "unroll" in current.attrs:
            return chain
        rest = [o for o in current.regions[0] if not _invisible(o)]
        if len(rest) != 1 or rest[0].name not in LOOPS or unrolls(rest[0]):
            return chain
        if not _bounds_from_outside(rest[0], chain):
            return chain
        chain.append(rest[0])


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
        step = op.attrs["step"]
    else:
        low, high, by = (arithmetic.lin(env[o]) for o in op.operands[:3])
        lowers, uppers = [low], [high]
        if not by.is_const:
            raise arithmetic.unsupported(op, "A loop's step is not known at compile time.")
        step = by.const
    lower = arithmetic.extreme(lowers, smallest=False)
    upper = arithmetic.extreme(uppers, smallest=True)
    span = subtract(upper, lower)
    trips = max(0, -(-span.const // step)) if span.is_const else None
    return LoopShape(lowers, uppers, lower, upper, step, trips)
