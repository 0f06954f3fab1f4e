"""Matrix-vector units, folded: ``pe`` sums of ``simd`` products in each cycle, with weights in memories."""

from __future__ import annotations

from typing import Any

import numpy as np

import allo
from allo.customize import Schedule
from allo.errors import OptionError
from allo.ir.types import Int, Stream, UInt, int8

from .shapes import INT8, Element, divides
from .units import Unit, unit

Means = tuple[int, int]
_MULTIPLIED = 9
"""Bits of a product from which on it takes a multiplier."""
_WORD = 64
"""Bits of weights that lie in one word."""
_SHARED = 8
"""Bits of elements and weights of which two products fit one multiplier."""


def sum_bits(weights: Any, low: int, high: int) -> int:
    """Bits of sums of rows of weights times elements of ``low`` … ``high``, and of parts of these sums."""
    rows = np.asarray(weights, np.int64).reshape(len(weights), -1)
    first, second = rows * low, rows * high
    least = int(np.minimum(np.minimum(first, second), 0).sum(1).min())
    most = int(np.maximum(np.maximum(first, second), 0).sum(1).max())
    return max(most.bit_length(), (-least - 1).bit_length() if least < 0 else 0) + 1


def ternary(weights: Any) -> bool:
    """Whether products with these weights are elements, their negatives and zeros."""
    return bool((np.abs(np.asarray(weights, np.int64)) <= 1).all())


def fits(count: int, simd: int, bits: int) -> bool:
    """Whether so many weights stand in a word of a memory, and make up all of them."""
    return simd % count == 0 and (count == 1 or count * bits <= _WORD)


def packed(weights: Any, bits: int) -> Any:
    """Weights of the last dimension in one word each, the first in the lowest bits."""
    mask = np.uint64((1 << bits) - 1)
    parts = np.asarray(weights, np.int64).astype(np.uint64) & mask
    shifts = np.arange(parts.shape[-1], dtype=np.uint64) * np.uint64(bits)
    return (parts << shifts).sum(-1).astype(np.uint64)


def shares(element: Element, weight: Element, pe: int) -> bool:
    """Whether two rows share a multiplier: where products are wide enough to take one."""
    narrow = max(element.bits, weight.bits) <= _SHARED
    return pe % 2 == 0 and narrow and element.bits + weight.bits >= _MULTIPLIED


def matrix_vector(
    weights: Any,
    *,
    element: Element = INT8,
    weight: Element = INT8,
    pe: int = 1,
    simd: int = 1,
    vectors: int = 1,
    groups: int = 1,
    name: str = "matrix_vector",
) -> Unit:
    """A unit that multiplies a matrix of integers by vectors of integers.

    The elements of a vector come in words of ``simd``, and are kept while the rows, ``pe`` at a time, go
    over them. A word of ``pe`` sums goes when they are ready: every ``columns / simd`` cycles. Sums have
    the bits of :func:`sum_bits`. Where ``pe`` is even, one multiplier of 25 by 18 bits makes the products
    of two rows: the weight of the second stands 16 bits above that of the first, and what the sign of the
    lower product has taken from the upper one is added again. Products with weights of -1, 0 and 1 alone,
    narrower than int8, are choices.

    Args:
        weights: ``[rows, columns]``.
        element: of the vectors.
        weight: of the matrix.
        pe: rows at once.
        simd: columns at once.
        vectors: how many come.
        groups: of the rows, each of which is multiplied by a vector of its own: for each of ``vectors``, so
            many come.
        name: of the kernel.

    Raises:
        OptionError: ``pe`` does not divide the rows of a group, or ``simd`` not the columns.
    """
    matrix = np.asarray(weights, np.int64)
    divides(f"groups of {name}", groups, matrix.shape[0])
    divides(f"pe of {name}", pe, matrix.shape[0] // groups)
    divides(f"simd of {name}", simd, matrix.shape[1])
    bits = sum_bits(matrix, element.low, element.high)
    rounds, steps = matrix.shape[0] // (groups * pe), matrix.shape[1] // simd
    folded = matrix.reshape(groups * rounds, pe, steps, simd).transpose(0, 2, 1, 3)
    depth = groups * rounds * steps
    chooses = weight != INT8 and ternary(matrix)
    together = 2 if shares(element, weight, pe) and not chooses else 1
    pairs = pe // together
    size, kind, held = element.bits, element.kind, weight.kind
    come_bits, go_bits = size * simd, bits * pe
    table = folded.reshape(depth, pe, simd)
    own = 2 if chooses else weight.bits
    per = 1 if weight == INT8 else max(n for n in range(1, simd + 1) if fits(n, simd, own))
    packs, word_bits = simd // per, own * per
    if together == 2:
        lower, upper = table[:, 0::2].astype(np.uint8), table[:, 1::2].astype(np.uint8)
        table = (upper.astype(np.uint16) << 8) | lower
    else:
        table = packed(table.reshape(depth, pe, packs, per), own)
    table = np.ascontiguousarray(table)

    def two_rows(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """Two rows on each multiplier."""
        weight: UInt(16)[depth, pairs, simd] = table
        kept: UInt(come_bits)[steps]
        sums: Int(bits)[pe]
        for _v, h, r, k in allo.grid(vectors, groups, rounds, steps, name="products"):
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
                    x: kind = word[size * i : size * i + size]
                    both: UInt(16) = weight[(h * rounds + r) * steps + k, o, i]
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
        """A row on each multiplier, or without."""
        weight: UInt(word_bits)[depth, pairs, packs] = table
        kept: UInt(come_bits)[steps]
        sums: Int(bits)[pe]
        for _v, h, r, k in allo.grid(vectors, groups, rounds, steps, name="products"):
            word: UInt(come_bits) = 0
            if r == 0:
                word = come.get()
                kept[k] = word
            else:
                word = kept[k]
            out: UInt(go_bits) = 0
            for o in range(pairs):
                first: Int(bits) = 0
                for g in range(packs):
                    factors: UInt(word_bits) = weight[(h * rounds + r) * steps + k, o, g]
                    for i in range(per):
                        x: kind = word[size * (g * per + i) : size * (g * per + i) + size]
                        with allo.meta_if(chooses):
                            wide: Int(size + 2) = 0
                            if factors[2 * i] == 1:
                                wide = x
                            first += -wide if factors[2 * i + 1] == 1 else wide
                        with allo.meta_else():
                            mine: held = factors[own * i : own * i + own]
                            first += x * mine
                one: Int(bits) = first if k == 0 else sums[o] + first
                sums[o] = one
                out[bits * o : bits * o + bits] = one
            if k == steps - 1:
                go.put(out)

    def schedule(s: Schedule) -> None:
        for loop in ("o", "i") if together == 2 else ("o", "g", "i"):
            s.unroll(f"{name}:{loop}")
        s.partition(f"{name}:sums")
        for dim in (2, 3):
            s.partition(f"{name}:weight", dim=dim)
        s.pipeline(f"{name}:k")

    return unit(two_rows if together == 2 else one_row, name, schedule, locals())


def sum_bits_of_any(columns: int, element: Element, weight: Element, means: Means) -> int:
    """Bits of sums of so many products, whatever the weights are."""
    values = [means[0] * end + means[1] for end in (element.low, element.high)]
    products = [value * end * columns for value in values for end in (weight.low, weight.high)]
    return Element.of(min(*products, -1), max(products)).bits


def folded_words(matrix: Any, weight: Element, pe: int, simd: int) -> list[int]:
    """The words of a matrix in which :func:`any_matrix_vector` takes it, the first weight in the lowest bits.

    Raises:
        OptionError: a weight that is none of the elements.
    """
    rows = np.asarray(matrix, np.int64)
    if rows.min() < weight.low or rows.max() > weight.high:
        raise OptionError(
            f"A weight is {rows.min() if rows.min() < weight.low else rows.max()}, and those of this layer "
            f"are numbers from {weight.low} to {weight.high}.",
            help="give weights in the range of those of the file, whose bits the hardware has.",
        )
    rounds, steps = rows.shape[0] // pe, rows.shape[1] // simd
    folded = rows.reshape(rounds, pe, steps, simd).transpose(0, 2, 1, 3).reshape(-1, pe * simd)
    mask = (1 << weight.bits) - 1
    return [
        sum((int(w) & mask) << (weight.bits * k) for k, w in enumerate(word)) for word in folded
    ]


def any_matrix_vector(
    rows: int,
    columns: int,
    *,
    element: Element = INT8,
    weight: Element = INT8,
    means: Means = (1, 0),
    pe: int = 1,
    simd: int = 1,
    vectors: int = 1,
    keeps: bool = True,
    name: str = "any_matrix_vector",
) -> Unit:
    """A unit that multiplies vectors by a matrix which comes from outside, in words of ``pe · simd`` weights.

    Elements and sums come and go as those of :func:`matrix_vector`; sums have the bits of
    :func:`sum_bits_of_any`, and :func:`folded_words` gives the words of a matrix.

    Args:
        rows, columns: of the matrix.
        element: of the vectors.
        weight: of the matrix.
        means: an element stands for ``means[0] * element + means[1]``.
        pe: rows at once.
        simd: columns at once.
        vectors: how many come.
        keeps: whether the words come once, beside the first vector, and are kept in a memory; else they
            come anew for each vector, and nothing is kept.
        name: of the kernel.

    Raises:
        OptionError: ``pe`` does not divide the rows, or ``simd`` not the columns.
    """
    divides(f"pe of {name}", pe, rows)
    divides(f"simd of {name}", simd, columns)
    bits = sum_bits_of_any(columns, element, weight, means)
    rounds, steps, own = rows // pe, columns // simd, weight.bits
    depth, size, kind, held = (
        (rounds * steps if keeps else 1),
        element.bits,
        element.kind,
        weight.kind,
    )
    times, more = means
    ends = [times * element.low + more, times * element.high + more]
    value_kind = Element.of(min(ends), max(ends)).kind
    come_bits, go_bits, word_bits = size * simd, bits * pe, own * pe * simd

    def multiplying(
        come: Stream[UInt(come_bits), 2],
        other: Stream[UInt(word_bits), 2],
        go: Stream[UInt(go_bits), 2],
    ):
        """Products with weights that come."""
        stored: UInt(word_bits)[depth]
        kept: UInt(come_bits)[steps]
        sums: Int(bits)[pe]
        for v, r, k in allo.grid(vectors, rounds, steps, name="products"):
            word: UInt(come_bits) = 0
            if r == 0:
                word = come.get()
                kept[k] = word
            else:
                word = kept[k]
            factors: UInt(word_bits) = 0
            with allo.meta_if(keeps):
                if v == 0:
                    factors = other.get()
                    stored[r * steps + k] = factors
                else:
                    factors = stored[r * steps + k]
            with allo.meta_else():
                factors = other.get()
            out: UInt(go_bits) = 0
            for o in range(pe):
                first: Int(bits) = 0
                for i in range(simd):
                    level: kind = word[size * i : size * i + size]
                    x: value_kind = level * times + more
                    mine: held = factors[own * (o * simd + i) : own * (o * simd + i) + own]
                    first += x * mine
                one: Int(bits) = first if k == 0 else sums[o] + first
                sums[o] = one
                out[bits * o : bits * o + bits] = one
            if k == steps - 1:
                go.put(out)

    def schedule(s: Schedule) -> None:
        for loop in ("o", "i"):
            s.unroll(f"{name}:{loop}")
        s.partition(f"{name}:sums")
        s.pipeline(f"{name}:k")

    return unit(multiplying, name, schedule, locals())


def by_channel(
    weights: Any,
    *,
    element: Element = INT8,
    weight: Element = INT8,
    simd: int = 1,
    vectors: int = 1,
    name: str = "by_channel",
) -> Unit:
    """A unit of one sum for each channel of an image: depthwise convolution.

    For each place, words of ``simd`` channels come in the order ``[channel, window]``, as a unit
    :func:`~allo.library.nn.stream.window` with a group for each word gives them; ``simd`` sums go together.

    Args:
        weights: ``[channels, window]``.
        element: of the image.
        weight: of the weights.
        simd: channels at once.
        vectors: places of all images.
        name: of the kernel.

    Raises:
        OptionError: ``simd`` does not divide the channels.
    """
    matrix = np.asarray(weights, weight.dtype)
    divides(f"simd of {name}", simd, matrix.shape[0])
    bits = sum_bits(matrix, element.low, element.high)
    size, kind, held = element.bits, element.kind, weight.kind
    rounds, steps = matrix.shape[0] // simd, matrix.shape[1]
    depth = rounds * steps
    table = np.ascontiguousarray(
        matrix.reshape(rounds, simd, steps).transpose(0, 2, 1).reshape(depth, simd)
    )
    come_bits, go_bits = size * simd, bits * simd

    def each(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """A sum of each channel."""
        weight: held[depth, simd] = table
        sums: Int(bits)[simd]
        for _v, r, k in allo.grid(vectors, rounds, steps, name="products"):
            word: UInt(come_bits) = come.get()
            out: UInt(go_bits) = 0
            for i in range(simd):
                x: kind = word[size * i : size * i + size]
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
