"""What the float values of a converted model are: integers on a grid, or functions of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph import Operator
from ..integers.arithmetic import Array


@dataclass(frozen=True, slots=True)
class Grid:
    """Integers that stand for floats: ``(level - zero) * scale``.

    Attributes:
        scale: of one level.
        zero: the level that stands for 0.
        low: the lowest level.
        high: the highest level.
        dtype: PyTorch's name of the integers' type.
    """

    scale: float
    zero: int
    low: int
    high: int
    dtype: str

    @property
    def step(self) -> float:
        """The scale as PyTorch multiplies by it, a float32."""
        return float(np.float32(self.scale))

    @property
    def inverse(self) -> float:
        """What PyTorch multiplies by to quantise, a float32."""
        return float(np.float32(1.0 / self.scale))

    def level(self, value: float) -> int:
        """Where PyTorch puts a float32; halves go to even."""
        scaled = np.rint(np.float32(value) * np.float32(self.inverse)) + np.float32(self.zero)
        return int(np.clip(scaled, self.low, self.high))

    @property
    def levels(self) -> Array:
        """All of them."""
        return np.arange(self.low, self.high + 1)

    @property
    def bits(self) -> int:
        """Of the type."""
        return int(self.dtype.removeprefix("u").removeprefix("int"))


@dataclass(frozen=True, slots=True)
class Levels:
    """A float value that is the integers of ``name`` on a grid."""

    name: str
    grid: Grid


@dataclass(frozen=True, slots=True)
class Function:
    """A float value whose elements depend on the integers at the same places.

    Attributes:
        of: the integers.
        values: the result, a float32 for each value of the integers' type.
    """

    of: Levels
    values: Any


@dataclass(frozen=True, slots=True)
class Ending:
    """How a float result becomes integers: bounds, then one or more equal quantisations.

    Attributes:
        grid: of the integers.
        low: the lowest level that is left.
        high: the highest level that is left.
        steps: the operators that are done with it.
    """

    grid: Grid
    low: int
    high: int
    steps: tuple[Operator, ...]
