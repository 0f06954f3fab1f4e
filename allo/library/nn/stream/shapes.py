"""Images as streams of words: their elements, and what a window over them needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np

from allo.errors import OptionError
from allo.ir.types import Int, UInt, float32


@dataclass(frozen=True, slots=True)
class Element:
    """The integers that a stream passes, or the weights of a layer; at the end of a network, floats.

    Attributes:
        bits: of one.
        signed: whether there are negative ones.
        is_float: whether they are numbers of float32.
    """

    bits: int = 8
    signed: bool = True
    is_float: bool = False

    @staticmethod
    def of(low: int, high: int) -> Element:
        """The narrowest that holds two numbers."""
        low, high = int(low), int(high)  # NumPy's have no bit_length
        if low >= 0:
            return Element(max(high.bit_length(), 1), signed=False)
        return Element(max(high.bit_length(), (~low).bit_length()) + 1)

    @staticmethod
    def named(dtype: str) -> Element:
        """The one of a type's name: ``"uint3"``, ``"float32"``."""
        if dtype == "float32":
            return Element(32, is_float=True)
        return Element(int(dtype.strip("uint")), not dtype.startswith("u"))

    @property
    def name(self) -> str:
        """The name of its type, as :meth:`named` reads it."""
        if self.is_float:
            return "float32"
        return f"int{self.bits}" if self.signed else f"uint{self.bits}"

    @property
    def kind(self) -> Any:
        """The type of kernels."""
        if self.is_float:
            return float32
        return Int(self.bits) if self.signed else UInt(self.bits)

    @property
    def low(self) -> int:
        """The least."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """The greatest."""
        return (1 << (self.bits - self.signed)) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type that holds it."""
        if self.is_float:
            return np.dtype(np.float32)
        size = next(size for size in (8, 16, 32, 64) if size >= self.bits)
        return np.dtype(f"{'' if self.signed else 'u'}int{size}")


INT8 = Element()


@dataclass(frozen=True, slots=True)
class Window:
    """The windows that a layer reads of an image.

    Attributes:
        image: height, width and channels of the image.
        places: height and width of the result.
        kernel: height and width of a window.
        stride: rows and columns between two windows.
        before: rows and columns of padding above and on the left.
        dilation: rows and columns from one element of a window to the next.
    """

    image: tuple[int, int, int]
    places: tuple[int, int]
    kernel: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    before: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)

    @property
    def reach(self) -> tuple[int, int]:
        """Rows and columns from the first element of a window to its last, and these two."""
        down, across = ((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True))
        return down, across

    def needed(self, y: int) -> int:
        """Rows of the image that have come when row ``y`` of the result begins."""
        reach = y * self.stride[0] - self.before[0] + self.reach[0]
        return max(0, min(self.image[0], reach))

    @property
    def last(self) -> int:
        """The last row of the result."""
        return self.places[0] - 1

    @property
    def amounts(self) -> list[int]:
        """Pixels that are taken while each row of the result is made, with images behind this one.

        They are spread evenly, since what makes them does so evenly, but for rows that the next row needs.
        Before the first row, :meth:`needed` rows have come, and behind the last one those of the next image.
        """
        height, width, _ = self.image
        rows = self.places[0]
        taken = [0]
        each, more = divmod(height * width, rows)
        for y in range(rows):
            even = (y + 1) * each + min(y + 1, more)
            following = self.needed(y + 1) if y < self.last else height
            taken.append(max(even, (following - self.needed(0)) * width, taken[-1]))
        return [after - before for before, after in zip(taken, taken[1:], strict=False)]

    @property
    def final_amounts(self) -> list[int]:
        """Pixels that are taken in each row of the last image: none of a next one."""
        left = (self.image[0] - self.needed(0)) * self.image[1]
        found = []
        for amount in self.amounts:
            found.append(min(amount, left))
            left -= found[-1]
        return found

    @property
    def slots(self) -> int:
        """Rows that are held, a power of two: what windows of a row read, and what is taken meanwhile."""
        width = self.image[1]
        come, most = self.needed(0) * width, 1
        for y, amount in enumerate(self.amounts):
            come += amount
            first = max(0, min(y * self.stride[0] - self.before[0], self.needed(y)))
            most = max(most, ceil(come / width) - first)
        return 1 << (most - 1).bit_length()

    @property
    def columns(self) -> int:
        """Places of a row, and further ones at which pixels are taken and no window is given."""
        return max(self.places[1], ceil(max(self.amounts) / prod(self.kernel)))

    @property
    def cycles(self) -> int:
        """Of an image whose pixels are one word."""
        return self.places[0] * self.columns * prod(self.kernel)


def divides(what: str, part: int, whole: int) -> None:
    """Refuse a folding that does not divide.

    Raises:
        OptionError: ``part`` does not divide ``whole``; the nearest parts that do are named.
    """
    if part >= 1 and whole % part == 0:
        return
    near = nearest(part, whole)
    raise OptionError(
        f"{what} is {part}, which does not divide {whole}.",
        help=f"give {' or '.join(map(str, near))}, the nearest that {'does' if len(near) == 1 else 'do'}.",
    )


def nearest(part: int, whole: int) -> Sequence[int]:
    """The divisors of ``whole`` that lie around ``part``."""
    known = [n for n in range(1, whole + 1) if whole % n == 0]
    below = [n for n in known if n < part]
    above = [n for n in known if n > part]
    return [*below[-1:], *above[:1]]
