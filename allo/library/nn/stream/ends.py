"""The ends of a layer: from sums to elements of int8, and the sum of two images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import Int, Stream, UInt, int8, int32

from .shapes import divides
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
    name: str = "requantise",
) -> Unit:
    """A unit that adds a bias to the sums of a layer, and brings them to int8.

    Words of ``pe`` sums come, and words of ``simd`` elements go; ``lanes`` sums become int8 in a cycle.

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
    come_bits, go_bits = sums * pe, 8 * simd
    part, rest, step = sums * lanes, 8 * (simd - lanes), 8 * lanes

    def ending(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """Sums to int8."""
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
                bounded: int8 = min(max(level + zero, low), high)
                new[rest + 8 * o : rest + 8 * o + 8] = bounded
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


def add(
    first: tuple[Any, int],
    second: tuple[Any, int],
    rounding: Rounding,
    *,
    elements: int,
    simd: int = 1,
    name: str = "add",
) -> Unit:
    """A unit that adds two images of int8 of different scales: the end of a residual block.

    An element becomes a number on the common scale by a table of 256, so that it takes no multiplier.

    Args:
        first, second: of each operand, the number that each of its levels from -128 to 127 becomes, and bits.
        rounding: what becomes of the sum of two such numbers.
        elements: of all images.
        simd: elements in a word that goes; words of one come.
        name: of the kernel.

    Raises:
        OptionError: ``simd`` does not divide the elements.
    """
    divides(f"simd of {name}", simd, elements)
    words, go_bits, rest = elements // simd, 8 * simd, 8 * (simd - 1)
    left_table, left_bits = first
    right_table, right_bits = second
    bits = max(left_bits, right_bits) + 1
    factor, half, right = int(rounding.factor), int(rounding.half), int(rounding.right)
    zero, low, high, mask = rounding.zero, rounding.low, rounding.high, -int(rounding.sign)
    left = int(rounding.left)

    def adding(come: Stream[UInt(8), 2], other: Stream[UInt(8), 2], go: Stream[UInt(go_bits), 2]):
        """The sum of two images."""
        firsts: Int(left_bits)[256] = left_table
        seconds: Int(right_bits)[256] = right_table
        out: UInt(go_bits) = 0
        for _w, k in allo.grid(words, simd, name="sums"):
            total: Int(bits) = firsts[come.get() ^ 128] + seconds[other.get() ^ 128]
            level: int32 = (total * left * factor + _NUDGE) >> _HIGH
            level = (level + half + ((level >> _HIGH) & mask)) >> right
            bounded: int8 = min(max(level + zero, low), high)
            new: UInt(go_bits) = 0
            new[rest : rest + 8] = bounded
            out = (out >> 8) | new
            if k == simd - 1:
                go.put(out)

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:k")

    return unit(adding, name, schedule, locals())
