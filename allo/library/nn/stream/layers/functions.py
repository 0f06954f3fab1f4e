"""Functions of each element as they are folded, and any function of a whole image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from ..network import Network
from ..shapes import INT8, Element
from ..steps import COMPARED, SEARCHED, Steps, steps
from ..whole import whole
from .base import LANES, Elementwise, Fold, memory


def cost_of(function: Steps, bits: int, lanes: int, method: str) -> tuple[int, int, int]:
    """Multipliers, lookup tables and blocks of memory of numbers of so many bits that become levels."""
    rows = max(1, function.rows // lanes)
    size, compared = function.element.bits, ceil(0.7 * bits) + 1
    lut, bram = 3 * size + 12, 0
    if method in (COMPARED, SEARCHED):
        found = (
            [memory(rows, bits)] * function.count
            if method == COMPARED
            else [memory(rows << j, bits) for j in range(function.depth)]
        )
        constant = method == COMPARED and rows == 1
        lut += sum(compared + (0 if constant else tables) for _, tables in found)
        bram = sum(blocks for blocks, _ in found)
        lut += function.count if method == COMPARED else 2 * size
    elif function.table is not None:
        bram, tables = memory(rows * len(function.table[0]), size)
        lut += tables
    else:
        lut += 3 * bits
    return 0, lanes * lut, lanes * bram


@dataclass(frozen=True, slots=True)
class Function(Elementwise):
    """A function of each element of an image, by itself: a quantiser, a table.

    Attributes:
        name, reads: of the layer.
        steps: the function.
        taken_element: of what comes.
        places: vectors of an image.
        channels: of a vector.
    """

    name: str
    reads: tuple[str, ...]
    steps: Steps
    taken_element: Element
    places: int
    channels: int

    @property
    def element(self) -> Element:
        """Of the result."""
        return self.steps.element

    @property
    def elements(self) -> int:
        """Elements of an image of the result."""
        return self.places * self.channels

    def folds(self) -> Iterator[Fold]:
        """So many elements at once, where they divide the channels."""
        for lanes in LANES:
            if self.channels % lanes:
                continue
            for method in self.steps.methods:
                dsp, lut, bram = cost_of(self.steps, self.taken_element.bits, lanes, method)
                cycles = self.elements // lanes
                yield Fold(lanes, lanes, lanes, cycles, dsp, lut + 80, bram, method)

    def add_to(
        self, network: Network, fold: Fold, samples: int, comes: Sequence[str], goes: str, simd: int
    ) -> None:
        """One unit."""
        unit = steps(
            self.taken_element,
            self.steps,
            channels=self.channels,
            pe=fold.simd,
            simd=simd,
            lanes=fold.lanes,
            vectors=samples * self.places,
            method=fold.method,
            name=f"{self.name}_steps",
        )
        network.add(unit, come=comes[0], go=goes)


@dataclass(frozen=True, slots=True)
class Whole(Elementwise):
    """Any function of a whole image.

    Attributes:
        name, reads: of the layer.
        function: a kernel of an array, whose result is another.
        come_shape, go_shape: of the two.
        work: cycles of the function, about.
        come, taken: of what comes, and of the function's array.
        made: elements of the result.
    """

    name: str
    reads: tuple[str, ...]
    function: Callable[..., Any]
    come_shape: tuple[int, ...]
    go_shape: tuple[int, ...]
    work: int
    come: Element = INT8
    taken: Element = INT8
    made: Element = INT8

    @property
    def element(self) -> Element:
        """Of the result."""
        return self.made

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
            self.function,
            self.come_shape,
            self.go_shape,
            come=self.come,
            taken=self.taken,
            go=self.made,
            samples=samples,
            name=f"{self.name}_unit",
        )
        network.add(unit, come=comes[0], go=goes)
