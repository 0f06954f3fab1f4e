"""Matrix-vector-threshold units of signs: weights of one bit, and sums that become bits at once."""

from __future__ import annotations

from typing import Any

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import Int, Stream, UInt, int8

from .shapes import divides
from .units import Unit, unit

MOST_BITS = 64
"""Of the weights in a word."""


def signs(
    weights: Any,
    *,
    thresholds: Any = None,
    falling: Any = None,
    pe: int = 1,
    simd: int = 1,
    vectors: int = 1,
    takes_bits: bool = True,
    name: str = "signs",
) -> Unit:
    """A unit that multiplies a matrix of signs by vectors of signs, or of int8.

    A bit of 1 stands for 1, and 0 for -1. A sum of signs is the count of those that agree; a sum of int8 is
    that of the elements with their signs. Words go as those of
    :func:`~allo.library.nn.stream.matrix_vector` do, with a bit for each of ``pe`` sums: whether it reaches
    the threshold of its row (or, where the row is falling, does not). Without thresholds, the sums go.

    Args:
        weights: bits, ``[rows, columns]``.
        thresholds: of each row.
        falling: of each row, whether its bit is that of sums below the threshold.
        pe: rows at once.
        simd: columns at once, 64 at most.
        vectors: how many come.
        takes_bits: whether signs come, and not int8.
        name: of the kernel.

    Raises:
        OptionError: ``pe`` does not divide the rows, or ``simd`` not the columns.
    """
    matrix = np.asarray(weights, np.uint64)
    divides(f"pe of {name}", pe, matrix.shape[0])
    divides(f"simd of {name}", simd, matrix.shape[1])
    rounds, steps = matrix.shape[0] // pe, matrix.shape[1] // simd
    depth, element = rounds * steps, 1 if takes_bits else 8
    bits = sum_bits_of_signs(matrix.shape[1], takes_bits)
    parts = matrix.reshape(rounds, pe, steps, simd).transpose(0, 2, 1, 3)
    table = (parts << np.arange(simd, dtype=np.uint64)).sum(-1).astype(np.uint64)
    if takes_bits:  # so that bits which agree differ
        table = table ^ np.uint64((1 << simd) - 1)
    table = np.ascontiguousarray(table.reshape(depth, pe))
    decides = thresholds is not None
    limits, turned = _limits(matrix.shape, thresholds, falling, bits, pe)
    has_falling = bool(turned.any())
    come_bits, go_bits = element * simd, pe if decides else pe * bits

    def counting(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """Signs that agree, or elements with signs."""
        weight: UInt(simd)[depth, pe] = table
        limit: Int(bits)[rounds, pe] = limits
        falls: UInt(1)[rounds, pe] = turned
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
            for o in range(pe):
                mine: UInt(simd) = weight[r * steps + k, o]
                first: Int(bits) = 0
                with allo.meta_if(takes_bits):
                    same: UInt(simd) = word ^ mine
                    for i in range(simd):
                        first += same[i]
                with allo.meta_else():
                    for i in range(simd):
                        x: int8 = word[8 * i : 8 * i + 8]
                        y: Int(9) = x  # of which -128 has a negative
                        first += y if mine[i] == 1 else -y
                one: Int(bits) = first if k == 0 else sums[o] + first
                sums[o] = one
                with allo.meta_if(decides):
                    reached: UInt(1) = 1 if one >= limit[r, o] else 0
                    with allo.meta_if(has_falling):
                        reached = reached ^ falls[r, o]
                    out[o] = reached
                with allo.meta_else():
                    out[bits * o : bits * o + bits] = one
            if k == steps - 1:
                go.put(out)

    def schedule(s: Schedule) -> None:
        s.unroll(f"{name}:o")
        s.unroll(f"{name}:i")
        s.partition(f"{name}:sums")
        s.partition(f"{name}:weight", dim=2)
        if decides:
            s.partition(f"{name}:limit", dim=2)
            if has_falling:
                s.partition(f"{name}:falls", dim=2)
        s.pipeline(f"{name}:k")

    return unit(counting, name, schedule, locals())


def sum_bits_of_signs(columns: int, takes_bits: bool) -> int:
    """Bits of a sum of so many signs, or elements of int8 with signs."""
    return (columns if takes_bits else columns * 128).bit_length() + 1


def _limits(
    shape: tuple[int, ...], thresholds: Any, falling: Any, bits: int, pe: int
) -> tuple[Any, Any]:
    """Thresholds within the sums' bits and whether they fall, ``[rounds, pe]``."""
    rows = shape[0]
    below = np.zeros(rows, np.int64) if thresholds is None else np.asarray(thresholds, np.int64)
    turned = np.zeros(rows, np.uint8) if falling is None else np.asarray(falling, np.uint8)
    limit = 1 << (bits - 1)
    clipped = np.clip(below, -limit, limit - 1)  # sums are below the greatest number of their bits
    return clipped.reshape(-1, pe).copy(), turned.reshape(-1, pe).copy()
