"""Layers of a network as they are folded: what each folding takes, and the units that it becomes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np

from .ends import Rounding, add, requantise
from .network import Network
from .products import by_channel, matrix_vector, sum_bits
from .shapes import Window
from .whole import whole
from .windows import window
from .words import thin

_TABLE = 64
"""Words of a table that lookup tables hold at one bit each; larger ones lie in blocks of memory."""
_BLOCK_WORDS, _BLOCK_BITS = 1024, 18
_ROW = 32
"""Words of a row that wait in front of windows, at most."""
_LANES = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Fold:
    """How often the parts of a layer are there, and what that takes, about.

    Attributes:
        pe: sums at once.
        simd: products of each at once, and elements in a word that the layer takes.
        lanes: sums that are brought to int8 at once.
        cycles: of an image.
        dsp, lut, bram: of the layer.
    """

    pe: int = 1
    simd: int = 1
    lanes: int = 1
    cycles: int = 0
    dsp: int = 0
    lut: int = 0
    bram: int = 0


class Layer(ABC):
    """A layer.

    Attributes:
        name: of the layer, and of its result.
        reads: the names of what it takes.
        elements: of an image of its result.
    """

    name: str
    reads: tuple[str, ...]

    @property
    def bits(self) -> int:
        """Of an element of the result."""
        return 8

    @property
    @abstractmethod
    def elements(self) -> int:
        """Elements of an image of the result."""

    @property
    @abstractmethod
    def lag(self) -> float:
        """The part of an image that the layer has taken before its result begins."""

    def holds(self, fold: Fold) -> int:
        """Words that the stream in front of it has room for, so that what makes them need not wait."""
        return 4

    @abstractmethod
    def folds(self) -> Iterator[Fold]:
        """The foldings that there are."""

    @abstractmethod
    def widths(self, simd: int) -> bool:
        """Whether its result can go in words of so many elements."""

    @abstractmethod
    def add_to(
        self, network: Network, fold: Fold, samples: int, comes: Sequence[str], goes: str, simd: int
    ) -> None:
        """Put its units into a network.

        Args:
            network: the network.
            fold: of this layer.
            samples: images.
            comes: the streams that it takes, in words of the folding's ``simd`` elements.
            goes: the stream that it gives.
            simd: elements of a word that it gives.
        """


@dataclass(frozen=True, slots=True)
class Product(Layer):
    """A convolution, by channel or not, or a fully connected layer, of int8.

    Attributes:
        name, reads: of the layer.
        weights: ``[channels, window and channels of the image]``, by channel ``[channels, window]``.
        shape: the windows; None where each pixel, or the whole input, is one.
        places: vectors of an image.
        bias: of each channel, with what the zero point of the input contributes.
        total_bits: of a sum with its bias.
        rounding: what becomes of a sum.
        fill: the element outside of the image.
        is_by_channel: one sum for each channel of the image.
    """

    name: str
    reads: tuple[str, ...]
    weights: Any
    places: int
    bias: Any
    total_bits: int
    rounding: Rounding
    shape: Window | None = None
    fill: int = 0
    is_by_channel: bool = False

    @property
    def channels(self) -> int:
        """Of the result."""
        return int(len(self.weights))

    @property
    def elements(self) -> int:
        """Elements of an image of the result."""
        return self.places * self.channels

    @property
    def lag(self) -> float:
        """The part of an image that the layer has taken before its result begins."""
        return lag_of(self.shape, self.places)

    def holds(self, fold: Fold) -> int:
        """Words that the stream in front of it has room for: a vector, or a row of pixels."""
        if self.shape is None:
            return vector_words(self.weights, fold.simd)
        return row_words(self.shape, fold.simd)

    @property
    def taken(self) -> int:
        """Channels of which a word that it takes holds some."""
        if self.is_by_channel:
            return self.channels
        columns = int(self.weights.shape[1])
        return columns if self.shape is None else self.shape.image[2]

    def widths(self, simd: int) -> bool:
        """Whether its result can go in words of so many elements."""
        return self.channels % simd == 0

    def folds(self) -> Iterator[Fold]:
        """Each ``simd`` that divides the channels taken, and each ``pe`` that divides those given."""
        for simd in divisors(self.taken):
            for pe in [simd] if self.is_by_channel else divisors(self.channels):
                for lanes in _LANES:
                    if pe % lanes == 0:
                        yield self.fold(pe, simd, lanes)

    def fold(self, pe: int, simd: int, lanes: int) -> Fold:
        """What one folding takes."""
        columns = int(self.weights.shape[1])
        rounds = self.channels // pe
        steps = columns if self.is_by_channel else columns // simd
        cycles = self.places * max(rounds * steps, ceil(self.channels / lanes))
        bram = lut = 0
        if self.shape is not None and prod(self.shape.kernel) > 1:
            height, width, channels = self.shape.image
            words = channels // simd
            cycles = max(cycles, self.shape.cycles * words)
            kept = self.shape.slots * width * words
            more, tables = memory(kept, 8 * simd)
            bram, lut = bram + more, lut + tables + 270
        elif self.shape is not None:
            cycles = max(cycles, prod(self.shape.image) // simd)
            lut += 60
        pairs = pe % 2 == 0 and not self.is_by_channel
        banks = (pe // 2 if pairs else pe) * (1 if self.is_by_channel else simd)
        more, tables = memory(rounds * steps, 16 if pairs else 8)
        bram, lut = bram + banks * more, lut + banks * tables
        bits = sum_bits(self.weights, -128, 127)
        products = pe * (1 if self.is_by_channel else simd)
        lut += products * (24 if pairs else 14) + pe * bits * 2 + 150
        factor = int(np.max(np.asarray(self.rounding.factor))).bit_length() + 1
        blocks = ceil(factor / 25) * ceil(self.total_bits / 18)
        blocks = min(blocks, ceil(factor / 18) * ceil(self.total_bits / 25))
        width_of_tables = factor + (60 if self.rounding.wide else 40)
        more, tables = memory(self.channels // lanes, width_of_tables)
        lut += lanes * (280 + tables)
        bram += lanes * more
        return Fold(pe, simd, lanes, cycles, banks + lanes * blocks, lut, bram)

    def add_to(
        self, network: Network, fold: Fold, samples: int, comes: Sequence[str], goes: str, simd: int
    ) -> None:
        """Window, products, ends."""
        (come,), name = comes, self.name
        vectors = samples * self.places
        if self.shape is not None and prod(self.shape.kernel) == 1:
            kept = thin(
                self.shape.image,
                self.shape.stride,
                simd=fold.simd,
                samples=samples,
                name=f"{name}_window",
            )
            come = through(network, kept, come, f"{name}_windows")
            # A row of pixels, as the rows between give none.
            words = self.shape.image[2] // fold.simd
            network.depths[come] = self.shape.places[1] * words + 2
        elif self.shape is not None:
            moved = window(
                self.shape,
                simd=fold.simd,
                samples=samples,
                fill=self.fill,
                by_channel=self.is_by_channel,
                name=f"{name}_window",
            )
            come = through(network, moved, come, f"{name}_windows")
            if not self.is_by_channel:
                network.depths[come] = vector_words(self.weights, fold.simd)
        if self.is_by_channel:
            unit = by_channel(
                self.weights, simd=fold.simd, vectors=vectors, name=f"{name}_products"
            )
        else:
            unit = matrix_vector(
                self.weights, pe=fold.pe, simd=fold.simd, vectors=vectors, name=f"{name}_products"
            )
        come = through(network, unit, come, f"{name}_sums")
        end = requantise(
            sum_bits(self.weights, -128, 127),
            self.rounding,
            self.bias,
            channels=self.channels,
            pe=fold.pe,
            simd=simd,
            lanes=fold.lanes,
            vectors=vectors,
            bits=self.total_bits,
            name=f"{name}_ends",
        )
        network.add(end, come=come, go=goes)


@dataclass(frozen=True, slots=True)
class Sum(Layer):
    """The sum of two images of int8, element by element.

    Attributes:
        name, reads: of the layer, which reads two.
        size: elements of an image.
        tables: of each operand, what its levels become, and bits.
        rounding: what becomes of a sum.
    """

    name: str
    reads: tuple[str, ...]
    size: int
    tables: tuple[tuple[Any, int], tuple[Any, int]]
    rounding: Rounding

    @property
    def elements(self) -> int:
        """Elements of an image of the result."""
        return self.size

    @property
    def lag(self) -> float:
        """The part of an image that the layer has taken before its result begins."""
        return 0.0

    def widths(self, simd: int) -> bool:
        """Whether its result can go in words of so many elements."""
        return self.elements % simd == 0

    def folds(self) -> Iterator[Fold]:
        """One: an element in a cycle."""
        yield Fold(cycles=self.elements, dsp=4, lut=350, bram=2)

    def add_to(
        self, network: Network, fold: Fold, samples: int, comes: Sequence[str], goes: str, simd: int
    ) -> None:
        """One unit."""
        first, second = self.tables
        unit = add(
            first,
            second,
            self.rounding,
            elements=samples * self.elements,
            simd=simd,
            name=self.name,
        )
        network.add(unit, come=comes[0], other=comes[1], go=goes)


@dataclass(frozen=True, slots=True)
class Whole(Layer):
    """Any function of a whole image of int8.

    Attributes:
        name, reads: of the layer.
        function: a kernel of an array, whose result is another.
        come_shape, go_shape: of the two.
        work: cycles of the function, about.
    """

    name: str
    reads: tuple[str, ...]
    function: Callable[..., Any]
    come_shape: tuple[int, ...]
    go_shape: tuple[int, ...]
    work: int

    @property
    def elements(self) -> int:
        """Elements of an image of the result."""
        return prod(self.go_shape)

    @property
    def lag(self) -> float:
        """The part of an image that the layer has taken before its result begins."""
        return 1.0

    def widths(self, simd: int) -> bool:
        """Whether its result can go in words of so many elements."""
        return simd == 1

    def folds(self) -> Iterator[Fold]:
        """One."""
        cycles = prod(self.come_shape) + self.work + self.elements
        yield Fold(cycles=cycles, dsp=4, lut=600, bram=ceil(prod(self.come_shape) / 2048))

    def add_to(
        self, network: Network, fold: Fold, samples: int, comes: Sequence[str], goes: str, simd: int
    ) -> None:
        """One unit."""
        unit = whole(
            self.function, self.come_shape, self.go_shape, samples=samples, name=f"{self.name}_unit"
        )
        network.add(unit, come=comes[0], go=goes)


def lag_of(shape: Window | None, places: int) -> float:
    """The part of an image that windows have taken before a result begins; without, one of its vectors."""
    if shape is None:
        return 1 / places
    height, width, _ = shape.image
    if prod(shape.kernel) == 1:
        return shape.stride[0] / height
    return shape.needed(0) / height + shape.amounts[0] / (height * width)


def vector_words(weights: Any, simd: int) -> int:
    """Words of a vector, and at least two."""
    return max(2, int(weights.shape[1]) // simd)


def row_words(shape: Window, simd: int) -> int:
    """Words of a row of an image, and few where it is long: pools give them at once."""
    _, width, channels = shape.image
    return max(4, min(width * channels // simd, _ROW))


def through(network: Network, unit: Any, come: str, go: str) -> str:
    """Put a unit of one stream in and one out into a network; the stream that it gives."""
    network.add(unit, come=come, go=go)
    return go


def divisors(number: int) -> list[int]:
    """The numbers that divide another one."""
    return [n for n in range(1, number + 1) if number % n == 0]


def memory(words: int, bits: int) -> tuple[int, int]:
    """Blocks of memory and lookup tables of one bank."""
    if words <= 4 * _TABLE:
        return 0, ceil(words / _TABLE) * bits // 2
    if words * 2 <= _BLOCK_WORDS:
        return ceil(bits / (2 * _BLOCK_BITS)), 0
    return ceil(words / _BLOCK_WORDS) * ceil(bits / _BLOCK_BITS), 0
