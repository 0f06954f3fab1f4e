"""The ends of a layer by a multiplier, and the sum or the product of two images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import Int, Stream, UInt, int32

from .shapes import INT8, Element, divides
from .units import Unit, unit

_NUDGE, _HIGH = 1 << 30, 31
_WORD = 32
"""Bits of a sum from which on TFLite's kernels lose upper ones."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """What becomes of a sum; each number is one, or ``[channels]``.

    With ``wide``, ``(sum · factor + half) >> right`` in that many bits. Without, the steps of TFLite's
    ``MultiplyByQuantizedMultiplier``: ``(sum · left · factor + 2³⁰) >> 31`` in 32 bits, and a division by
    ``2 ** right`` with halves away from zero.

    Attributes:
        factor, half, right: as above.
        left: a power of two.
        sign: 1 where the division looks at the sign.
        wide: bits, or 0.
        zero: added at the end.
        low, high: the bounds of the result.
    """

    factor: Any
    half: Any
    right: Any
    left: Any = 1
    sign: Any = 1
    wide: int = 0
    zero: int = 0
    low: int = -128
    high: int = 127


def _table(values: Any, channels: int, lanes: int) -> tuple[Any, int]:
    """A table of the channels, ``[channels / lanes, lanes]``, in the fewest bits, and these."""
    array = np.broadcast_to(np.asarray(values, np.int64).reshape(-1), (channels,))
    bits = max(int(array.max()), ~int(array.min()), 1).bit_length() + 1
    return np.ascontiguousarray(array.reshape(-1, lanes)), bits


def requantise(
    sums: int,
    rounding: Rounding,
    bias: Any,
    *,
    channels: int,
    pe: int = 1,
    simd: int = 1,
    lanes: int = 1,
    vectors: int = 1,
    bits: int = 32,
    element: Element = INT8,
    name: str = "requantise",
) -> Unit:
    """A unit that adds a bias to the sums of a layer, and brings them to elements.

    Words of ``pe`` sums come, and words of ``simd`` elements go; ``lanes`` sums become elements in a cycle.

    Args:
        sums: bits of a sum that comes.
        rounding: what becomes of a sum with its bias.
        bias: of each channel; what TFLite's zero point of the input contributes belongs to it.
        channels: of a vector.
        pe: sums in a word that comes.
        simd: elements in a word that goes.
        lanes: sums at once.
        vectors: how many come.
        bits: of a sum with its bias; of 32, upper bits are lost where they are lost in TFLite.
        element: what they become.
        name: of the kernel.

    Raises:
        OptionError: ``lanes`` does not divide ``pe`` or ``simd``, or these not the channels.
    """
    divides(f"pe of {name}", pe, channels)
    divides(f"simd of {name}", simd, channels)
    divides(f"lanes of {name}", lanes, pe)
    divides(f"lanes of {name}", lanes, simd)
    steps, together, parts = channels // lanes, simd // lanes, pe // lanes
    wide, zero, low, high = rounding.wide, rounding.zero, rounding.low, rounding.high
    is_wide, keeps_all = wide > 0, bits < _WORD
    factor_of = np.asarray(rounding.factor, np.int64) * np.asarray(rounding.left, np.int64)
    # A bias that is added behind the product leaves no sum in front of it.
    inner = np.asarray(rounding.half if is_wide else _NUDGE, np.int64)
    behind = np.asarray(bias, np.int64) * factor_of + inner if keeps_all else inner
    added, bias_bits = _table(bias, channels, lanes)
    factors, factor_bits = _table(factor_of, channels, lanes)
    addends, addend_bits = _table(behind, channels, lanes)
    halves, half_bits = _table(0 if is_wide else rounding.half, channels, lanes)
    rights, right_bits = _table(rounding.right, channels, lanes)
    masks, mask_bits = _table(-np.asarray(rounding.sign, np.int64), channels, lanes)
    all_right = int(rights[0, 0]) if (rights == rights[0, 0]).all() else -1  # -1: not all alike
    scaled_bits = max((sums if keeps_all else bits) + factor_bits, addend_bits) + 1
    size, kind = element.bits, element.kind
    come_bits, go_bits = sums * pe, size * simd
    part, rest, step = sums * lanes, size * (simd - lanes), size * lanes

    def ending(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """Sums to elements."""
        biases: Int(bias_bits)[steps, lanes] = added
        factor: Int(factor_bits)[steps, lanes] = factors
        addend: Int(addend_bits)[steps, lanes] = addends
        half: Int(half_bits)[steps, lanes] = halves
        right: Int(right_bits)[steps, lanes] = rights
        mask: Int(mask_bits)[steps, lanes] = masks
        others: UInt(come_bits) = 0
        out: UInt(go_bits) = 0
        for _v, k in allo.grid(vectors, steps, name="ends"):
            word: UInt(come_bits) = 0
            if k % parts == 0:
                word = come.get()
            else:
                word = others
            others = word >> part
            new: UInt(go_bits) = 0
            for o in range(lanes):
                one: Int(sums) = word[sums * o : sums * o + sums]
                scaled: Int(scaled_bits) = 0
                with allo.meta_if(keeps_all):
                    scaled = one * factor[k, o] + addend[k, o]
                with allo.meta_else():
                    total: Int(bits) = one + biases[k, o]
                    scaled = total * factor[k, o] + addend[k, o]
                level: int32 = 0
                with allo.meta_if(is_wide and all_right >= 0):
                    level = scaled >> all_right
                with allo.meta_elif(is_wide):
                    level = scaled >> right[k, o]
                with allo.meta_else():
                    level = scaled >> _HIGH
                    level = level + half[k, o] + ((level >> _HIGH) & mask[k, o])
                    with allo.meta_if(all_right >= 0):
                        level = level >> all_right
                    with allo.meta_else():
                        level = level >> right[k, o]
                bounded: kind = min(max(level + zero, low), high)
                new[rest + size * o : rest + size * o + size] = bounded
            out = (out >> step) | new
            if k % together == together - 1:
                go.put(out)

    def schedule(s: Schedule) -> None:
        if lanes > 1:
            s.unroll(f"{name}:o")
            arrays = ["factor", "addend"]
            arrays += [] if all_right >= 0 else ["right"]
            arrays += [] if is_wide else ["half", "mask"]
            arrays += [] if keeps_all else ["biases"]
            for array in arrays:
                s.partition(f"{name}:{array}", dim=2)
        s.pipeline(f"{name}:k")

    return unit(ending, name, schedule, locals())


@dataclass(frozen=True, slots=True)
class Operand:
    """One of two images that are added or multiplied.

    Attributes:
        element: of it.
        factor: what its elements are multiplied by.
        table: what each of its elements becomes in place of that, from the least on.
        offset: what is added to the product.
    """

    element: Element = INT8
    factor: int = 1
    table: Any = None
    offset: int = 0

    @property
    def held(self) -> Element:
        """What an element becomes."""
        if self.table is not None:
            return Element.of(int(np.min(self.table)), int(np.max(self.table)))
        ends = [self.factor * end + self.offset for end in (self.element.low, self.element.high)]
        return Element.of(min(*ends, -1), max(ends))

    @property
    def values(self) -> Any:
        """The table in the order of the bits of an element; one of nothing where there is none."""
        if self.table is None:
            return np.zeros(1, np.int64)
        half = -self.element.low
        return np.roll(np.asarray(self.table, np.int64), half)


def result_of(first: Operand, second: Operand, multiplies: bool = False) -> Element:
    """The sum of two such numbers, or their product."""
    if multiplies:
        return Element(first.held.bits + second.held.bits)
    return Element(max(first.held.bits, second.held.bits) + 1)


def add(
    first: Operand,
    second: Operand,
    rounding: Rounding | None = None,
    *,
    elements: int,
    simd: int = 1,
    lanes: int = 1,
    multiplies: bool = False,
    name: str = "add",
) -> Unit:
    """A unit that adds two images, of different scales: the end of a residual block.

    An element becomes a number on the common scale by a small factor, or by a table, so that it takes no
    multiplier.

    Args:
        first, second: the operands.
        rounding: what becomes of the sum of two such numbers, an int8; without one, the sum goes.
        elements: of all images.
        simd: elements in a word that goes; words of ``lanes`` come.
        lanes: elements at once.
        multiplies: whether it gives products in place of sums.
        name: of the kernel.

    Raises:
        OptionError: ``simd`` does not divide the elements, or ``lanes`` not ``simd``.
    """
    divides(f"simd of {name}", simd, elements)
    divides(f"lanes of {name}", lanes, simd)
    results = result_of(first, second, multiplies)
    gone = INT8 if rounding is not None else results
    rounds = rounding is not None
    ends = rounding or Rounding(1, 0, 0)
    words, parts, wide = elements // simd, simd // lanes, results.kind
    size, kind = gone.bits, gone.kind
    go_bits, rest, step = size * simd, size * (simd - lanes), size * lanes
    one, second_size = first.element.bits, second.element.bits
    one_kind, other_kind = first.element.kind, second.element.kind
    one_bits, other_bits = one * lanes, second_size * lanes
    one_held, other_held = first.held.kind, second.held.kind
    one_times, other_times = first.factor, second.factor
    one_more, other_more = first.offset, second.offset
    one_known, other_known = first.table is not None, second.table is not None
    one_table, other_table = first.values, second.values
    one_count, other_count = len(one_table), len(other_table)
    factor, half, right = int(ends.factor), int(ends.half), int(ends.right)
    zero, low, high, mask = ends.zero, ends.low, ends.high, -int(ends.sign)
    left = int(ends.left)

    def adding(
        come: Stream[UInt(one_bits), 2],
        other: Stream[UInt(other_bits), 2],
        go: Stream[UInt(go_bits), 2],
    ):
        """The sum of two images."""
        firsts: one_held[one_count] = one_table
        seconds: other_held[other_count] = other_table
        out: UInt(go_bits) = 0
        for _w, k in allo.grid(words, parts, name="sums"):
            mine: UInt(one_bits) = come.get()
            theirs: UInt(other_bits) = other.get()
            new: UInt(go_bits) = 0
            for o in range(lanes):
                a: one_held = 0
                b: other_held = 0
                with allo.meta_if(one_known):
                    a = firsts[mine[one * o : one * o + one]]
                with allo.meta_else():
                    x: one_kind = mine[one * o : one * o + one]
                    a = x * one_times + one_more
                with allo.meta_if(other_known):
                    b = seconds[theirs[second_size * o : second_size * o + second_size]]
                with allo.meta_else():
                    y: other_kind = theirs[second_size * o : second_size * o + second_size]
                    b = y * other_times + other_more
                total: wide = 0
                with allo.meta_if(multiplies):
                    total = a * b
                with allo.meta_else():
                    total = a + b
                bounded: kind = 0
                with allo.meta_if(rounds):
                    level: int32 = (total * left * factor + _NUDGE) >> _HIGH
                    level = (level + half + ((level >> _HIGH) & mask)) >> right
                    bounded = min(max(level + zero, low), high)
                with allo.meta_else():
                    bounded = total
                new[rest + size * o : rest + size * o + size] = bounded
            out = (out >> step) | new
            if k == parts - 1:
                go.put(out)

    def schedule(s: Schedule) -> None:
        if lanes > 1:
            s.unroll(f"{name}:o")
        s.pipeline(f"{name}:k")

    return unit(adding, name, schedule, locals())
