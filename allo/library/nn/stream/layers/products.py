"""Convolutions and fully connected layers as they are folded, and the units that they become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np

from ..ends import Rounding, requantise
from ..network import Network
from ..products import (
    Means,
    any_matrix_vector,
    by_channel,
    matrix_vector,
    shares,
    sum_bits,
    sum_bits_of_any,
    ternary,
)
from ..shapes import INT8, Element, Window
from ..steps import Steps, steps
from ..windows import window
from ..words import resize, thin, words
from .base import (
    LANES,
    Fold,
    Layer,
    divisors,
    lag_of,
    memory,
    row_words,
    through,
    vector_words,
)
from .functions import cost_of

_MULTIPLIED = 9
"""Bits of a product from which on it takes a multiplier."""


@dataclass(frozen=True, slots=True)
class Product(Layer):
    """A convolution, by channel or not, or a fully connected layer.

    Attributes:
        name, reads: of the layer.
        weights: ``[channels, window and channels of a group]``, by channel ``[channels, window]``.
        places: vectors of an image.
        bias: of each channel, with what the zero point of the input contributes.
        total_bits: of a sum with its bias.
        rounding: what becomes of a sum, by a multiplier.
        shape: the windows; None where each pixel, or the whole input, is one.
        fill: the element outside of the image.
        is_by_channel: one sum for each channel of the image.
        taken_element, weight: of what comes, and of the weights.
        steps: what becomes of a sum in place of ``rounding``. Without both, the sums are the result.
        outside: ``"kept"`` where weights come as an argument ``…_weights`` of words, once, beside the first
            vector; ``"streamed"`` where they come anew for each vector, and are not kept.
        means: of weights from outside, what an element stands for: ``means[0] * element + means[1]``.
        groups: of channels of the image and of the result, each of which reads one of the image.
    """

    name: str
    reads: tuple[str, ...]
    weights: Any
    places: int
    bias: Any = 0
    total_bits: int = 32
    rounding: Rounding | None = None
    shape: Window | None = None
    fill: int = 0
    is_by_channel: bool = False
    taken_element: Element = INT8
    weight: Element = INT8
    steps: Steps | None = None
    outside: str = ""
    means: Means = (1, 0)
    groups: int = 1

    @property
    def channels(self) -> int:
        """Of the result."""
        return int(len(self.weights))

    @property
    def sums(self) -> Element:
        """The sums."""
        if self.outside:
            columns = int(self.weights.shape[1])
            return Element(sum_bits_of_any(columns, self.taken_element, self.weight, self.means))
        return Element(sum_bits(self.weights, self.taken_element.low, self.taken_element.high))

    @property
    def element(self) -> Element:
        """Of the result."""
        if self.steps is not None:
            return self.steps.element
        return INT8 if self.rounding is not None else self.sums

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

    def queue(self, fold: Fold, come: str) -> tuple[str, int]:
        """The stream in which words wait for the layer, and how many of an image pass through it."""
        columns = int(self.weights.shape[1])
        if self.shape is None:
            return come, self.places * columns * self.groups // fold.simd
        pixel = self.shape.image[2] // fold.simd
        if self._is_thinned:
            return f"{self.name}_windows", self.places * pixel
        return come, prod(self.shape.image[:2]) * pixel

    @property
    def taken(self) -> int:
        """Channels of which a word that it takes holds some."""
        if self.is_by_channel:
            return self.channels
        columns = int(self.weights.shape[1])
        return columns if self.shape is None else self.shape.image[2] // self.groups

    @property
    def _is_thinned(self) -> bool:
        """Whether windows are single pixels, some of which are left out."""
        return (
            self.shape is not None and prod(self.shape.kernel) == 1 and self.shape.before == (0, 0)
        )

    def widths(self, simd: int) -> bool:
        """Whether its result can go in words of so many elements."""
        return self.channels % simd == 0

    def folds(self) -> Iterator[Fold]:
        """Each ``simd`` that divides the channels taken, and each ``pe`` that divides those given."""
        sums = self.sums.bits
        for simd in divisors(self.taken):
            for pe in [simd] if self.is_by_channel else divisors(self.channels // self.groups):
                if self.rounding is None and self.steps is None:
                    yield self.fold(pe, simd, pe, "", sums)
                    continue
                for lanes in LANES:
                    for method in self.steps.methods if self.steps is not None else ("",):
                        if pe % lanes == 0:
                            yield self.fold(pe, simd, lanes, method, sums)

    def fold(self, pe: int, simd: int, lanes: int, method: str, sums: int) -> Fold:
        """What one folding takes, of sums of so many bits."""
        columns = int(self.weights.shape[1])
        rounds = self.channels // pe
        turns = columns if self.is_by_channel else columns // simd
        ends = self.channels // lanes if method or self.rounding is not None else 0
        cycles = self.places * max(rounds * turns, ends)
        bram, lut = 0, 60
        if self.shape is not None and not self._is_thinned:
            height, width, channels = self.shape.image
            words = channels // simd
            cycles = max(cycles, self.shape.cycles * words)
            kept = self.shape.slots * width * words
            more, tables = memory(kept, self.taken_element.bits * simd)
            bram, lut = bram + more, tables + 270
        elif self.shape is not None:
            cycles = max(cycles, prod(self.shape.image) // simd)
        else:
            lut = 0
        blocks, tables, banks = self._banks(pe, simd, rounds * turns)
        dsp, more_tables, more = self._ends(lanes, method, sums)
        lut += tables + more_tables + pe * sums * 2 + 150
        return Fold(pe, simd, lanes, cycles, blocks + dsp, lut, bram + banks + more, method)

    def _banks(self, pe: int, simd: int, depth: int) -> tuple[int, int, int]:
        """Multipliers, lookup tables and blocks of memory of the products and their weights."""
        each = pe if self.is_by_channel else pe * simd
        element, weight = self.taken_element.bits, self.weight.bits
        if self.outside:
            more, tables = memory(depth, weight * each) if self.outside == "kept" else (0, 0)
            wide = element + weight + (self.means != (1, 0)) >= _MULTIPLIED
            cost = 14 if wide else ceil(1.2 * element * weight) + element + weight
            return each * wide, each * cost + tables, more
        if self.weight != INT8 and ternary(self.weights) and not self.is_by_channel:
            more, tables = memory(depth, 2 * simd)
            return 0, each * (2 * element + 5) + pe * tables, pe * more
        pairs = shares(self.taken_element, self.weight, pe) and not self.is_by_channel
        is_wide = element + weight >= _MULTIPLIED
        banks = each // 2 if pairs else each
        if pairs or self.weight == INT8 or self.is_by_channel:
            more, tables = memory(depth, 16 if pairs else weight)
            held = banks * tables, banks * more
        else:
            more, tables = memory(depth, weight * simd)
            held = pe * tables, pe * more
        if is_wide:
            return banks, each * (24 if pairs else 14) + held[0], held[1]
        return 0, each * (ceil(1.2 * element * weight) + element + weight) + held[0], held[1]

    def _ends(self, lanes: int, method: str, sums: int) -> tuple[int, int, int]:
        """Multipliers, lookup tables and blocks of memory behind the sums."""
        if self.steps is not None:
            return cost_of(self.steps, sums, lanes, method)
        if self.rounding is None:
            return 0, 0, 0
        factor = int(np.max(np.asarray(self.rounding.factor))).bit_length() + 1
        blocks = ceil(factor / 25) * ceil(self.total_bits / 18)
        blocks = min(blocks, ceil(factor / 18) * ceil(self.total_bits / 25))
        width_of_tables = factor + (60 if self.rounding.wide else 40)
        more, tables = memory(self.channels // lanes, width_of_tables)
        return lanes * blocks, lanes * (280 + tables), lanes * more

    def add_to(
        self, network: Network, fold: Fold, samples: int, comes: Sequence[str], goes: str, simd: int
    ) -> None:
        """Window, products, ends."""
        (come,), name = comes, self.name
        vectors = samples * self.places
        come = self._windows(network, fold, samples, come)
        sums = self.sums
        if self.steps is None and self.rounding is None:
            narrow = goes if fold.pe == simd else f"{goes}_narrow"
            self._multiply(network, fold, vectors, come, narrow)
            if narrow != goes:
                elements = samples * self.elements
                wider = resize(elements, fold.pe, simd, bits=sums.bits, name=f"{goes}_together")
                network.add(wider, come=narrow, go=goes)
            return
        self._multiply(network, fold, vectors, come, f"{name}_sums")
        folded: dict[str, Any] = {
            "channels": self.channels,
            "pe": fold.pe,
            "simd": simd,
            "lanes": fold.lanes,
            "vectors": vectors,
        }
        if self.steps is not None:
            end = steps(sums, self.steps, method=fold.method, name=f"{name}_ends", **folded)
        elif self.rounding is not None:
            end = requantise(
                sums.bits,
                self.rounding,
                self.bias,
                bits=self.total_bits,
                name=f"{name}_ends",
                **folded,
            )
        network.add(end, come=f"{name}_sums", go=goes)

    def _multiply(self, network: Network, fold: Fold, vectors: int, come: str, goes: str) -> None:
        """The unit of the products, and that of weights from outside."""
        kinds: dict[str, Any] = {
            "element": self.taken_element,
            "weight": self.weight,
            "simd": fold.simd,
            "vectors": vectors,
            "name": f"{self.name}_products",
        }
        if self.is_by_channel:
            network.add(by_channel(self.weights, **kinds), come=come, go=goes)
            return
        if not self.outside:
            unit = matrix_vector(self.weights, pe=fold.pe, groups=self.groups, **kinds)
            network.add(unit, come=come, go=goes)
            return
        rows, columns = self.weights.shape
        keeps = self.outside == "kept"
        wide = self.weight.bits * fold.pe * fold.simd
        count, times = rows * columns // (fold.pe * fold.simd), 1 if keeps else vectors
        given, stream = f"{self.name}_weights", f"{self.name}_weight_words"
        network.add(words(count, wide, times, name=f"{given}_unit"), image=given, go=stream)
        unit = any_matrix_vector(rows, columns, pe=fold.pe, means=self.means, keeps=keeps, **kinds)
        network.add(unit, come=come, other=stream, go=goes)

    def _windows(self, network: Network, fold: Fold, samples: int, come: str) -> str:
        """The unit of the windows, where there are any; the stream of their words."""
        if self.shape is None:
            return come
        name, bits = self.name, self.taken_element.bits
        if self._is_thinned:
            kept = thin(
                self.shape.image,
                self.shape.stride,
                simd=fold.simd,
                samples=samples,
                bits=bits,
                name=f"{name}_window",
            )
            come = through(network, kept, come, f"{name}_windows")
            # A row of pixels, as the rows between give none.
            per_pixel = self.shape.image[2] // fold.simd
            network.depths[come] = self.shape.places[1] * per_pixel + 2
            return come
        moved = window(
            self.shape,
            simd=fold.simd,
            samples=samples,
            bits=bits,
            fill=self.fill,
            groups=self.shape.image[2] // fold.simd if self.is_by_channel else self.groups,
            name=f"{name}_window",
        )
        come = through(network, moved, come, f"{name}_windows")
        if not self.is_by_channel:
            network.depths[come] = vector_words(self.weights, fold.simd)
        return come
