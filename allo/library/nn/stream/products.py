"""Matrix-vector units, folded: ``pe`` sums of ``simd`` products in each cycle, with weights in memories."""

from __future__ import annotations

from typing import Any

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import Int, Stream, UInt, int8

from .shapes import divides
from .units import Unit, unit


def sum_bits(weights: Any, low: int, high: int) -> int:
    """Bits of sums of rows of weights times elements of ``low`` … ``high``, and of parts of these sums."""
    rows = np.asarray(weights, np.int64).reshape(len(weights), -1)
    first, second = rows * low, rows * high
    least = int(np.minimum(np.minimum(first, second), 0).sum(1).min())
    most = int(np.maximum(np.maximum(first, second), 0).sum(1).max())
    return max(most.bit_length(), (-least - 1).bit_length() if least < 0 else 0) + 1


def matrix_vector(
    weights: Any,
    *,
    pe: int = 1,
    simd: int = 1,
    vectors: int = 1,
    name: str = "matrix_vector",
) -> Unit:
    """A unit that multiplies a matrix of int8 by vectors of int8.

    The elements of a vector come in words of ``simd``, and are kept while the rows, ``pe`` at a time, go
    over them. A word of ``pe`` sums goes when they are ready: every ``columns / simd`` cycles. Sums have
    the bits of :func:`sum_bits`. Where ``pe`` is even, one multiplier of 25 by 18 bits makes the products
    of two rows: the weight of the second stands 16 bits above that of the first, and what the sign of the
    lower product has taken from the upper one is added again.

    Args:
        weights: ``[rows, columns]``.
        pe: rows at once.
        simd: columns at once.
        vectors: how many come.
        name: of the kernel.

    Raises:
        OptionError: ``pe`` does not divide the rows, or ``simd`` not the columns.
    """
    matrix = np.asarray(weights, np.int8)
    divides(f"pe of {name}", pe, matrix.shape[0])
    divides(f"simd of {name}", simd, matrix.shape[1])
    bits = sum_bits(matrix, -128, 127)
    rounds, steps = matrix.shape[0] // pe, matrix.shape[1] // simd
    folded = matrix.reshape(rounds, pe, steps, simd).transpose(0, 2, 1, 3)
    depth = rounds * steps
    together = 2 if pe % 2 == 0 else 1
    pairs = pe // together
    come_bits, go_bits = 8 * simd, bits * pe
    table = folded.reshape(depth, pe, simd)
    if together == 2:
        lower, upper = table[:, 0::2].astype(np.uint8), table[:, 1::2].astype(np.uint8)
        table = (upper.astype(np.uint16) << 8) | lower
    table = np.ascontiguousarray(table)

    def two_rows(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """Two rows on each multiplier."""
        weight: UInt(16)[depth, pairs, simd] = table
        kept: UInt(come_bits)[steps]
        sums: Int(bits)[pe]
        for _v, r, k in allo.grid(vectors, rounds, steps, name="products"):
            word: UInt(come_bits) = 0
            if r == 0:
                word = come.get()
                kept[k] = word
            else:
                word = kept[k]
            out: UInt(go_bits) = 0
            for o in range(pairs):
                first: Int(bits) = 0
                second: Int(bits) = 0
                for i in range(simd):
                    x: int8 = word[8 * i : 8 * i + 8]
                    both: UInt(16) = weight[r * steps + k, o, i]
                    low: int8 = both[0:8]
                    high: int8 = both[8:16]
                    above: Int(25) = high
                    factor: Int(25) = (above << 16) + low
                    product: Int(33) = factor * x
                    below: Int(16) = product[0:16]
                    over: Int(17) = product >> 16
                    first += below
                    second += over + product[15]
                one: Int(bits) = first if k == 0 else sums[2 * o] + first
                two: Int(bits) = second if k == 0 else sums[2 * o + 1] + second
                sums[2 * o] = one
                sums[2 * o + 1] = two
                out[2 * bits * o : 2 * bits * o + bits] = one
                out[2 * bits * o + bits : 2 * bits * o + 2 * bits] = two
            if k == steps - 1:
                go.put(out)

    def one_row(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """A row on each multiplier."""
        weight: int8[depth, pairs, simd] = table
        kept: UInt(come_bits)[steps]
        sums: Int(bits)[pe]
        for _v, r, k in allo.grid(vectors, rounds, steps, name="products"):
            word: UInt(come_bits) = 0
            if r == 0:
                word = come.get()
                kept[k] = word
            else:
                word = kept[k]
            out: UInt(go_bits) = 0
            for o in range(pairs):
                first: Int(bits) = 0
                for i in range(simd):
                    x: int8 = word[8 * i : 8 * i + 8]
                    first += x * weight[r * steps + k, o, i]
                one: Int(bits) = first if k == 0 else sums[o] + first
                sums[o] = one
                out[bits * o : bits * o + bits] = one
            if k == steps - 1:
                go.put(out)

    def schedule(s: Schedule) -> None:
        for loop in ("o", "i"):
            s.unroll(f"{name}:{loop}")
        s.partition(f"{name}:sums")
        for dim in (2, 3):
            s.partition(f"{name}:weight", dim=dim)
        s.pipeline(f"{name}:k")

    return unit(two_rows if together == 2 else one_row, name, schedule, locals())


def by_channel(
    weights: Any,
    *,
    simd: int = 1,
    vectors: int = 1,
    name: str = "by_channel",
) -> Unit:
    """A unit of one sum for each channel of an image, of int8: depthwise convolution.

    For each place, words of ``simd`` channels come in the order ``[channel, window]``, as a unit
    :func:`~allo.library.nn.stream.window` of ``by_channel=True`` gives them; ``simd`` sums go together.

    Args:
        weights: ``[channels, window]``.
        simd: channels at once.
        vectors: places of all images.
        name: of the kernel.

    Raises:
        OptionError: ``simd`` does not divide the channels.
    """
    matrix = np.asarray(weights, np.int8)
    divides(f"simd of {name}", simd, matrix.shape[0])
    bits = sum_bits(matrix, -128, 127)
    rounds, steps = matrix.shape[0] // simd, matrix.shape[1]
    depth = rounds * steps
    table = np.ascontiguousarray(
        matrix.reshape(rounds, simd, steps).transpose(0, 2, 1).reshape(depth, simd)
    )
    come_bits, go_bits = 8 * simd, bits * simd

    def each(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """A sum of each channel."""
        weight: int8[depth, simd] = table
        sums: Int(bits)[simd]
        for _v, r, k in allo.grid(vectors, rounds, steps, name="products"):
            word: UInt(come_bits) = come.get()
            out: UInt(go_bits) = 0
            for i in range(simd):
                x: int8 = word[8 * i : 8 * i + 8]
                first: Int(bits) = x * weight[r * steps + k, i]
                one: Int(bits) = first if k == 0 else sums[i] + first
                sums[i] = one
                out[bits * i : bits * i + bits] = one
            if k == steps - 1:
                go.put(out)

    def schedule(s: Schedule) -> None:
        s.unroll(f"{name}:i")
        s.partition(f"{name}:sums")
        s.partition(f"{name}:weight", dim=2)
        s.pipeline(f"{name}:k")

    return unit(each, name, schedule, locals())
