"""What every layer of a network is, and what its foldings take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from ..network import Network
from ..shapes import INT8, Element, Window
from ..words import resize

_TABLE = 64
"""Words of a table that lookup tables hold at one bit each; larger ones lie in blocks of memory."""
_BLOCK_WORDS, _BLOCK_BITS = 1024, 18
_ROW = 32
"""Words of a row that wait in front of windows, at most."""
LANES = (1, 2, 4, 8, 16)
"""Of ends, at once."""


@dataclass(frozen=True, slots=True)
class Fold:
    """How often the parts of a layer are there, and what that takes, about.

    Attributes:
        pe: sums at once.
        simd: products of each at once, and elements in a word that the layer takes.
        lanes: sums that are brought to elements at once.
        cycles: of an image.
        dsp, lut, bram: of the layer.
        method: how levels are found: :attr:`~allo.library.nn.stream.Steps.methods`.
    """

    pe: int = 1
    simd: int = 1
    lanes: int = 1
    cycles: int = 0
    dsp: int = 0
    lut: int = 0
    bram: int = 0
    method: str = ""


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
    def element(self) -> Element:
        """Of the result."""
        return INT8

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

    def queue(self, fold: Fold, come: str) -> tuple[str, int]:
        """The stream in which words wait for the layer, and how many of an image pass through it.

        Args:
            fold: of the layer.
            come: the stream that it takes.
        """
        return come, 0

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


class Elementwise(Layer):
    """A layer that takes elements as they come, and gives one for each.

    Attributes:
        channels: of a vector.
    """

    channels: int

    @property
    def lag(self) -> float:
        """The part of an image that the layer has taken before its result begins."""
        return 0.0

    def widths(self, simd: int) -> bool:
        """Whether its result can go in words of so many elements."""
        return self.channels % simd == 0


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


def together(
    network: Network, unit: Any, elements: int, element: Element, widths: tuple[int, int], ends: Any
) -> None:
    """Put a unit into a network whose words are made wider where another width is wanted.

    Args:
        network: the network.
        unit: the unit.
        elements: that it gives in all.
        element: one of them.
        widths: elements of a word that it gives, and of one that is wanted.
        ends: the streams that it takes and that are wanted.
    """
    (come, goes), (given, wanted) = ends, widths
    if given == wanted:
        network.add(unit, come=come, go=goes)
        return
    between = through(network, unit, come, f"{goes}_narrow")
    wider = resize(elements, given, wanted, bits=element.bits, name=f"{goes}_together")
    network.add(wider, come=between, go=goes)


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
