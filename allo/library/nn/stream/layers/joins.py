"""Sums of two images as they are folded: the ends of residual blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..ends import Operand, Rounding, add, sum_of
from ..network import Network
from ..shapes import INT8, Element
from .base import LANES, Elementwise, Fold


@dataclass(frozen=True, slots=True)
class Sum(Elementwise):
    """The sum of two images, element by element.

    Attributes:
        name, reads: of the layer, which reads two.
        size: elements of an image.
        channels: of a pixel.
        operands: the two.
        rounding: what becomes of a sum; without it, the sums are the result.
    """

    name: str
    reads: tuple[str, ...]
    size: int
    channels: int
    operands: tuple[Operand, Operand]
    rounding: Rounding | None = None

    @property
    def element(self) -> Element:
        """Of the result."""
        return INT8 if self.rounding is not None else sum_of(*self.operands)

    @property
    def elements(self) -> int:
        """Elements of an image of the result."""
        return self.size

    def folds(self) -> Iterator[Fold]:
        """So many elements at once, where they divide the channels."""
        for lanes in LANES:
            if self.channels % lanes:
                continue
            cycles = self.elements // lanes
            if self.rounding is not None:
                yield Fold(lanes, lanes, lanes, cycles, 4 * lanes, 350 * lanes, 2 * lanes)
            else:
                yield Fold(lanes, lanes, lanes, cycles, 0, 60 + 2 * self.element.bits * lanes)

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
            name=self.name,
        )
        network.add(unit, come=comes[0], other=comes[1], go=goes)
