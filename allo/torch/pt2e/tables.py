"""Functions of one integer of eight bits: PyTorch computes them once for each of its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Operator
from ..integers.arithmetic import Array
from ..integers.running import run_operator
from .values import Function, Grid, Levels


def every_value(grid: Grid) -> Array:
    """Each value of the integers' type, those outside the grid's bounds too."""
    kind = np.iinfo(grid.dtype)
    return np.arange(kind.min, kind.max + 1)


def whole(levels: Levels) -> Function:
    """The integers' own floats as a function of them."""
    grid = levels.grid
    centred = every_value(grid).astype(np.float32) - np.float32(grid.zero)
    return Function(levels, centred * np.float32(grid.step))


def applied(torch: Any, op: Operator, operands: dict[str, Function]) -> Function:
    """An operator of functions of the same integers."""
    given = {name: torch.from_numpy(of.values.copy()) for name, of in operands.items()}
    with torch.no_grad():
        values = run_operator(torch, op, given)
    return Function(next(iter(operands.values())).of, values.numpy())


def on_grid(function: Function, grid: Grid) -> Array:
    """The levels at which PyTorch puts each value of a function; NaN, as PyTorch has it, at any."""
    with np.errstate(invalid="ignore"):
        scaled = np.rint(function.values * np.float32(grid.inverse)) + np.float32(grid.zero)
        levels = np.clip(np.nan_to_num(scaled, nan=grid.low), grid.low, grid.high)
    return np.asarray(levels, grid.dtype)


def as_levels(function: Function) -> Array | None:
    """The levels whose floats a function's values are, on its own grid; None where there are none."""
    grid = function.of.grid
    levels = on_grid(function, grid)
    back = (levels.astype(np.float32) - np.float32(grid.zero)) * np.float32(grid.step)
    inside = slice(*(bound - int(every_value(grid)[0]) for bound in (grid.low, grid.high + 1)))
    return levels if np.array_equal(back[inside], function.values[inside]) else None
