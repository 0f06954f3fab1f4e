"""Sums and products of two integers of eight bits: compared with PyTorch on every pair of values."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.models.graph import Operator, Ref
from allo.models.integers.arithmetic import Array, multipliers

from ..running import run_operator
from .tables import whole
from .values import Ending, Function, Levels

PAIRS = frozenset(f"aten.{name}.Tensor" for name in ("add", "sub", "mul"))
_NUDGES = (0, 1, -1, 2, -2, 4, -4)
"""Addends that are tried, in units of the smallest change that a multiplier can make to a result."""


def pair_of(
    torch: Any, op: Operator, left: Levels, right: Levels, ending: Ending
) -> tuple[dict[str, Any], int] | None:
    """The arguments of an integer sum or product, and on how many pairs of values it differs from PyTorch.

    PyTorch rounds each step to float32. Where that decides between two levels, no integers say the same on
    all pairs; the addend is chosen with which the fewest differ. None for integers of more bits. Sums
    and products of ``allo.quantize`` are integers from the start, and differ on none.
    """
    grid, alike = ending.grid, left.name == right.name
    if left.grid.bits != 8 or right.grid.bits != 8 or (alike and not grid.exact):
        return None
    first, second = (_centred(levels) for levels in (left, right))
    args: dict[str, Any] = {"zero": grid.zero, "low": ending.low, "high": ending.high}
    args |= {**grid.rounding, "self": Ref(left.name), "other": Ref(right.name)}
    unit = left.grid.step
    if op.target == "aten.mul.Tensor":
        bound = int(np.abs(first).max() * np.abs(second).max())
        factor, args["shift"] = multipliers(grid.ratio(np.asarray(unit * right.grid.step)), bound)
        args |= {
            "multiplier": int(factor),
            "zero_left": left.grid.zero,
            "zero_right": right.grid.zero,
        }
        scaled, fixed = first[:, None] * second[None] * int(factor), 0
    else:
        sign = -1 if op.target == "aten.sub.Tensor" else 1
        ratios = grid.ratio(np.array([unit, sign * op.args.get("alpha", 1) * right.grid.step]))
        bound = int(np.abs(first).max() + np.abs(second).max())
        factors, args["shift"] = multipliers(ratios, bound)
        args |= {"first": int(factors[0]), "second": int(factors[1])}
        scaled = first[:, None] * int(factors[0]) + second[None] * int(factors[1])
        fixed = -left.grid.zero * int(factors[0]) - right.grid.zero * int(factors[1])
    nudge, differing = 0, 0
    if not grid.exact:
        nudge, differing = _best(scaled, _wanted(torch, op, left, right, ending), args, bound)
    if fixed + nudge:
        args["addend"] = fixed + nudge
    return args, differing


def _centred(levels: Levels) -> Array:
    return levels.grid.levels.astype(np.int64) - levels.grid.zero


def _wanted(torch: Any, op: Operator, left: Levels, right: Levels, ending: Ending) -> Array:
    """The levels that PyTorch gives for every pair."""
    inside = [_inside(levels) for levels in (left, right)]
    names = [op.args[key].name for key in ("self", "other")]
    shapes = ((-1, 1), (1, -1))
    values = {
        name: torch.from_numpy(part.reshape(shape).copy())
        for name, part, shape in zip(names, inside, shapes, strict=True)
    }
    with torch.no_grad():
        floats = run_operator(torch, op, values).numpy()
    grid = ending.grid
    levels = np.rint(floats * np.float32(grid.inverse)) + np.float32(grid.zero)
    return np.asarray(np.clip(levels, ending.low, ending.high), np.int64)


def _inside(levels: Levels) -> Array:
    found: Function = whole(levels)
    grid = levels.grid
    start = grid.low - int(np.iinfo(grid.dtype).min)
    return np.asarray(found.values[start : start + len(grid.levels)])


def _best(scaled: Array, wanted: Array, args: dict[str, Any], bound: int) -> tuple[int, int]:
    """The addend with which the fewest results differ, and how many do."""
    shift, best = args["shift"], (0, wanted.size + 1)
    for nudge in _NUDGES:
        moved = scaled + nudge * bound
        levels = (moved + (1 << (shift - 1)) - 1 + ((moved >> shift) & 1)) >> shift
        found = np.clip(levels + args["zero"], args["low"], args["high"])
        differing = int((found != wanted).sum())
        if differing < best[1]:
            best = (nudge * bound, differing)
        if not differing:
            break
    return best
