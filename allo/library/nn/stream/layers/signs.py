"""Layers of signs as they are folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..network import Network
from ..shapes import Element, Window
from ..signs import MOST_BITS, signs, sum_bits_of_signs
from ..windows import window
from .base import (
    Fold,
    Layer,
    divisors,
    lag_of,
    memory,
    row_words,
    through,
    together,
    vector_words,
)


@dataclass(frozen=True, slots=True)
class Signs(Layer):
    """A convolution or a fully connected layer whose weights are signs.

    Attributes:
        name, reads: of the layer.
        weights: bits, ``[channels, window and channels of the image]``.
        places: vectors of an image.
        thresholds: of each channel; None where the sums are the result.
        falling: of each channel, whether its bit is that of sums below the threshold.
        shape: the windows; None where each pixel, or the whole input, is one.
        takes_bits: whether signs come, and not int8.
    """

    name: str
    reads: tuple[str, ...]
    weights: Any
    places: int
    thresholds: Any = None
    falling: Any = None
    shape: Window | None = None
    takes_bits: bool = True

    @property
    def element(self) -> Element:
        """Of the result."""
        if self.thresholds is not None:
            return Element(1, signed=False)
        return Element(sum_bits_of_signs(self.weights.shape[1], self.takes_bits))

    @property
    def elements(self) -> int:
        """Elements of an image of the result."""
        return int(self.places * len(self.weights))

    @property
    def lag(self) -> float:
        """The part of an image that the layer has taken before its result begins."""
        return lag_of(self.shape, self.places)

    def widths(self, simd: int) -> bool:
        """Whether its result can go in words of so many elements."""
        return bool(len(self.weights) % simd == 0)

    def holds(self, fold: Fold) -> int:
        """Words that the stream in front of it has room for: a vector, or a row of pixels."""
        if self.shape is None:
            return vector_words(self.weights, fold.simd)
        return row_words(self.shape, fold.simd)

    def folds(self) -> Iterator[Fold]:
        """Each ``simd`` that divides the channels taken, and each ``pe`` that divides those given."""
        rows, columns = self.weights.shape
        for simd in divisors(columns if self.shape is None else self.shape.image[2]):
            if simd > MOST_BITS:
                continue
            for pe in divisors(rows):
                cycles = self.places * (rows // pe) * (columns // simd)
                bram = lut = 0
                if self.shape is not None:
                    words = self.shape.image[2] // simd
                    cycles = max(cycles, self.shape.cycles * words)
                    kept = self.shape.slots * self.shape.image[1] * words
                    bram, lut = memory(kept, simd * (1 if self.takes_bits else 8))
                    lut += 270
                blocks, tables = memory(rows // pe * (columns // simd), simd)
                each = 2 * simd if self.takes_bits else 12 * simd
                lut += pe * (each + tables + 25) + 100
                yield Fold(pe, simd, pe, cycles, 0, lut, bram + pe * blocks)

    def add_to(
        self, network: Network, fold: Fold, samples: int, comes: Sequence[str], goes: str, simd: int
    ) -> None:
        """Window, counts and thresholds."""
        (come,), name = comes, self.name
        if self.shape is not None:
            bits = 1 if self.takes_bits else 8
            moved = window(
                self.shape, simd=fold.simd, samples=samples, bits=bits, name=f"{name}_window"
            )
            come = through(network, moved, come, f"{name}_windows")
            network.depths[come] = vector_words(self.weights, fold.simd)
        unit = signs(
            self.weights,
            thresholds=self.thresholds,
            falling=self.falling,
            pe=fold.pe,
            simd=fold.simd,
            vectors=samples * self.places,
            takes_bits=self.takes_bits,
            name=f"{name}_signs",
        )
        elements = samples * self.elements
        together(network, unit, elements, self.element, (fold.pe, simd), (come, goes))
