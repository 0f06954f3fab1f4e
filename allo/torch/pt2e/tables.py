"""Functions of one integer of eight bits: PyTorch computes them once for each of its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.models.graph import Operator
from allo.models.integers.arithmetic import Array

from ..running import run_operator
from .values import Function, Grid, Levels


def every_value(grid: Grid) -> Array:
    """Each value of the integers' type, those outside the grid's bounds too."""
    kind = np.iinfo(grid.dtype)
    return np.arange(kind.min, kind.max + 1)


def whole(levels: Levels) -> Function:
    """The integers' own floats as a function of them."""
    return Function(levels, levels.grid.floats(every_value(levels.grid)))


def applied(torch: Any, op: Operator, operands: dict[str, Function]) -> Function:
    """An operator of functions of the same integers."""
    given = {name: torch.from_numpy(of.values.copy()) for name, of in operands.items()}
    with torch.no_grad():
        values = run_operator(torch, op, given)
    return Function(next(iter(operands.values())).of, values.numpy())


def on_grid(function: Function, grid: Grid) -> Array:
    """The levels at which each value of a function is put; NaN, as PyTorch has it, at any."""
    return np.asarray(np.clip(grid.nearest(function.values), grid.low, grid.high), grid.dtype)


def as_levels(function: Function) -> Array | None:
    """The levels whose floats a function's values are, on its own grid; None where there are none."""
    grid = function.of.grid
    levels = on_grid(function, grid)
    back = grid.floats(levels)
    inside = slice(*(bound - int(every_value(grid)[0]) for bound in (grid.low, grid.high + 1)))
    return levels if np.array_equal(back[inside], function.values[inside]) else None
