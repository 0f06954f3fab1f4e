"""What the float values of a converted model are: integers on a grid, or functions of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from allo.models.graph import Operator
from allo.models.integers.arithmetic import Array


@dataclass(frozen=True, slots=True)
class Grid:
    """Integers that stand for floats: ``(level - zero) * scale``.

    PyTorch rounds scales to float32, and halves to even. ``allo.quantize`` takes scales as they are, and
    rounds halves of sums up.

    Attributes:
        scale: of one level.
        zero: the level that stands for 0.
        low: the lowest level.
        high: the highest level.
        dtype: PyTorch's name of the integers' type.
        exact: whether it is one of ``allo.quantize``.
    """

    scale: float
    zero: int
    low: int
    high: int
    dtype: str
    exact: bool = False

    @property
    def step(self) -> float:
        """The scale as it is multiplied by: PyTorch's a float32."""
        return self.scale if self.exact else float(np.float32(self.scale))

    @property
    def inverse(self) -> float:
        """What PyTorch multiplies by to quantise, a float32."""
        return float(np.float32(1.0 / self.scale))

    def level(self, value: float) -> int:
        """Where PyTorch puts a float32; halves go to even."""
        scaled = np.rint(np.float32(value) * np.float32(self.inverse)) + np.float32(self.zero)
        return int(np.clip(scaled, self.low, self.high))

    def ratio(self, unit: Array) -> Array:
        """How many levels something is that stands for ``unit``."""
        return unit / self.scale if self.exact else unit * self.inverse

    def floats(self, levels: Array) -> Array:
        """What levels stand for, float32."""
        if self.exact:
            return np.asarray((levels - self.zero) * self.scale, np.float32)
        centred = levels.astype(np.float32) - np.float32(self.zero)
        return np.asarray(centred * np.float32(self.step))

    def nearest(self, values: Array) -> Array:
        """The levels of float32 numbers before the bounds are applied; NaN becomes any level."""
        with np.errstate(invalid="ignore"):
            if self.exact:
                return np.nan_to_num(np.rint(values.astype(np.float64) / self.scale))
            scaled = np.rint(values * np.float32(self.inverse)) + np.float32(self.zero)
            return np.nan_to_num(scaled, nan=self.low)

    @property
    def largest(self) -> int:
        """The largest magnitude of a level, with and without the zero point."""
        bounds = (self.low, self.high)
        return max(abs(bound - zero) for bound in bounds for zero in (0, self.zero))

    @property
    def rounding(self) -> dict[str, str]:
        """The argument of an integer operator that says where halves go."""
        return {} if self.exact else {"ties": "even"}

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
