"""Pools, and borders around images, as they are folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from ..network import Network
from ..pools import pooled, total_of
from ..shapes import INT8, Element, Window
from ..windows import window
from .base import Fold, Layer, divisors, lag_of, memory, through, together


@dataclass(frozen=True, slots=True)
class Border(Layer):
    """An image with elements around it.

    Attributes:
        name, reads: of the layer.
        shape: windows of one element each.
        taken_element: of the image.
        fill: the element outside of the image.
    """

    name: str
    reads: tuple[str, ...]
    shape: Window
    taken_element: Element = INT8
    fill: int = 0

    @property
    def element(self) -> Element:
        """Of the result."""
        return self.taken_element

    @property
    def elements(self) -> int:
        """Elements of an image of the result."""
        return prod(self.shape.places) * self.shape.image[2]

    @property
    def lag(self) -> float:
        """The part of an image that the layer has taken before its result begins."""
        return lag_of(self.shape, prod(self.shape.places))

    def widths(self, simd: int) -> bool:
        """Whether its result can go in words of so many elements."""
        return self.shape.image[2] % simd == 0

    def folds(self) -> Iterator[Fold]:
        """Each number of channels at once that divides all of them."""
        height, width, channels = self.shape.image
        for simd in divisors(channels):
            words = channels // simd
            wide = self.taken_element.bits * simd
            bram, lut = memory(self.shape.slots * width * words, wide)
            cycles = max(self.shape.cycles, height * width) * words
            yield Fold(simd, simd, simd, cycles, 0, lut + 270 + self._more(wide), bram)

    def _more(self, bits: int) -> int:
        """Lookup tables behind the windows, of words of so many bits."""
        return 0

    def _windows(self, fold: Fold, samples: int) -> Any:
        """The unit of the windows."""
        return window(
            self.shape,
            simd=fold.simd,
            samples=samples,
            bits=self.taken_element.bits,
            fill=self.fill,
            groups=self.shape.image[2] // fold.simd,
            name=f"{self.name}_window",
        )

    def add_to(
        self, network: Network, fold: Fold, samples: int, comes: Sequence[str], goes: str, simd: int
    ) -> None:
        """Windows alone."""
        moved = self._windows(fold, samples)
        elements = samples * self.elements
        ends = (comes[0], goes)
        together(network, moved, elements, self.element, (fold.simd, simd), ends)


@dataclass(frozen=True, slots=True)
class Pool(Border):
    """The greatest element of each window, or the sum of all.

    Attributes:
        name, reads: of the layer.
        shape: the windows.
        taken_element: of the image.
        fill: the element outside of the image.
        adds: whether sums are the result.
    """

    adds: bool = False

    @property
    def element(self) -> Element:
        """Of the result."""
        if self.adds:
            return total_of(self.taken_element, prod(self.shape.kernel))
        return self.taken_element

    def _more(self, bits: int) -> int:
        """Lookup tables behind the windows, of words of so many bits."""
        return 60 + ceil(bits * 1.5)

    def add_to(
        self, network: Network, fold: Fold, samples: int, comes: Sequence[str], goes: str, simd: int
    ) -> None:
        """Window and choice."""
        channels, places = self.shape.image[2], prod(self.shape.places)
        moved = self._windows(fold, samples)
        come = through(network, moved, comes[0], f"{self.name}_windows")
        unit = pooled(
            channels,
            prod(self.shape.kernel),
            element=self.taken_element,
            adds=self.adds,
            simd=fold.simd,
            vectors=samples * places,
            name=f"{self.name}_pool",
        )
        elements = samples * self.elements
        together(network, unit, elements, self.element, (fold.simd, simd), (come, goes))
