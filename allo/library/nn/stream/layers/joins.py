"""Layers of two images as they are folded: sums and products, the ends of blocks, and images side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from ..concat import both_of, concat
from ..ends import Operand, Rounding, add, result_of
from ..network import Network
from ..shapes import INT8, Element
from .base import LANES, Elementwise, Fold, divisors


class Join(Elementwise):
    """A layer that reads two images, which come at one rate."""

    def waits(self, position: int) -> int:
        """Elements of an image that come while those of the other one are taken."""
        return 0


@dataclass(frozen=True, slots=True)
class Sum(Join):
    """The sum of two images, or their product, element by element.

    Attributes:
        name, reads: of the layer, which reads two.
        size: elements of an image.
        channels: of a pixel.
        operands: the two.
        rounding: what becomes of a sum; without it, the sums are the result.
        multiplies: whether it is the product.
    """

    name: str
    reads: tuple[str, ...]
    size: int
    channels: int
    operands: tuple[Operand, Operand]
    rounding: Rounding | None = None
    multiplies: bool = False

    @property
    def element(self) -> Element:
        """Of the result."""
        return INT8 if self.rounding is not None else result_of(*self.operands, self.multiplies)

    @property
    def elements(self) -> int:
        """Elements of an image of the result."""
        return self.size

    def folds(self) -> Iterator[Fold]:
        """So many elements at once, where they divide the channels."""
        bits = [operand.held.bits for operand in self.operands]
        own = bits[0] * bits[1] if self.multiplies else 0
        for lanes in LANES:
            if self.channels % lanes:
                continue
            cycles = self.elements // lanes
            if self.rounding is not None:
                lut = (350 + own) * lanes
                yield Fold(lanes, lanes, lanes, cycles, 4 * lanes, lut, 2 * lanes)
            else:
                lut = 60 + (2 * self.element.bits + own) * lanes
                yield Fold(lanes, lanes, lanes, cycles, 0, lut)

    def add_to(
        self, network: Network, fold: Fold, samples: int, comes: Sequence[str], goes: str, simd: int
    ) -> None:
        """One unit."""
        unit = add(
            *self.operands,
            self.rounding,
            elements=samples * self.elements,
            simd=simd,
            lanes=fold.lanes,
            multiplies=self.multiplies,
            name=self.name,
        )
        network.add(unit, come=comes[0], other=comes[1], go=goes)


@dataclass(frozen=True, slots=True)
class Concat(Join):
    """Two images side by side: for each pixel the channels of one, then those of the other.

    Attributes:
        name, reads: of the layer, which reads two.
        places: pixels of an image.
        parts: channels of a pixel of each.
        taken: elements of the two.
    """

    name: str
    reads: tuple[str, ...]
    places: int
    parts: tuple[int, int]
    taken: tuple[Element, Element]

    @property
    def element(self) -> Element:
        """Of the result."""
        return both_of(*self.taken)

    @property
    def elements(self) -> int:
        """Elements of an image of the result."""
        return self.places * sum(self.parts)

    def waits(self, position: int) -> int:
        """The channels of a pixel, while those of the other one are taken."""
        return self.parts[position]

    def widths(self, simd: int) -> bool:
        """Its words have as many elements as those that come."""
        return False

    def folds(self) -> Iterator[Fold]:
        """So many elements at once as divide the channels of both."""
        for simd in divisors(gcd(*self.parts)):
            lut = 60 + 2 * self.element.bits * simd
            yield Fold(simd, simd, simd, self.elements // simd, 0, lut)

    def add_to(
        self, network: Network, fold: Fold, samples: int, comes: Sequence[str], goes: str, simd: int
    ) -> None:
        """One unit."""
        unit = concat(
            *self.taken,
            self.parts,
            simd=simd,
            pixels=samples * self.places,
            name=f"{self.name}_pixels",
        )
        network.add(unit, come=comes[0], other=comes[1], go=goes)
