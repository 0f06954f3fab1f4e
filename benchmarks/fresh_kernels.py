"""Kernels of published algorithms that no estimate was made of before a first model was closed.

``benchmarks/estimate_halves.py`` measures them as its third group, ``looked at``: causes of their errors were
found and mended afterwards. They were written and their sizes and pipelines chosen before an estimate of one
was seen; ``unseen_kernels.py`` has the ten that are fresh now.
"""

from __future__ import annotations

from allo.customize import Schedule
from allo.ir.types import UInt, float32, int16, int32, uint8, uint32, uint64
from benchmarks.kernels import pipelined

PAIRS, ROUNDS, ITEMS, ROOM, SIZE, POINTS, CENTRES, WINDOW = 16, 32, 24, 128, 24, 64, 8, 32


def xtea(text: uint32[PAIRS, 2], key: uint32[4]):
    """XTEA, 32 cycles a block of two words (Needham and Wheeler, "TEA extensions", 1997)."""
    for n in range(PAIRS):
        left: uint32 = text[n, 0]
        right: uint32 = text[n, 1]
        total: uint32 = 0
        for r in range(ROUNDS):
            left = left + ((((right << 4) ^ (right >> 5)) + right) ^ (total + key[total & 3]))
            total = total + 0x9E3779B9
            right = right + ((((left << 4) ^ (left >> 5)) + left) ^ (total + key[(total >> 11) & 3]))  # fmt: skip # noqa: E501
        text[n, 0] = left
        text[n, 1] = right


def siphash(words: uint64[16], k0: uint64, k1: uint64) -> uint64:
    """SipHash-2-4 of whole words (Aumasson and Bernstein, INDOCRYPT 2012)."""
    v0: uint64 = k0 ^ 0x736F6D6570736575
    v1: uint64 = k1 ^ 0x646F72616E646F6D
    v2: uint64 = k0 ^ 0x6C7967656E657261
    v3: uint64 = k1 ^ 0x7465646279746573
    for r in range(38):
        word: uint64 = 0
        if r < 32:
            word = words[r >> 1]
        if r < 32 and (r & 1) == 0:
            v3 = v3 ^ word
        if r == 34:
            v2 = v2 ^ 0xFF
        v0 = v0 + v1
        v2 = v2 + v3
        v1 = ((v1 << 13) | (v1 >> 51)) ^ v0
        v3 = ((v3 << 16) | (v3 >> 48)) ^ v2
        v0 = (v0 << 32) | (v0 >> 32)
        v2 = v2 + v1
        v0 = v0 + v3
        v1 = ((v1 << 17) | (v1 >> 47)) ^ v2
        v3 = ((v3 << 21) | (v3 >> 43)) ^ v0
        v2 = (v2 << 32) | (v2 >> 32)
        if r < 32 and (r & 1) == 1:
            v0 = v0 ^ word
    return v0 ^ v1 ^ v2 ^ v3


def knapsack(weights: uint8[ITEMS], worths: int32[ITEMS]) -> int32:
    """The best worth of what fits into a knapsack, by dynamic programming (Bellman 1957)."""
    best: int32[ROOM]
    for z in range(ROOM):
        best[z] = 0
    for i in range(ITEMS):
        weight: int32 = weights[i]
        worth: int32 = worths[i]
        for r in range(ROOM):
            room: int32 = ROOM - 1 - r
            if room >= weight:
                with_it: int32 = best[room - weight] + worth
                if with_it > best[room]:
                    best[room] = with_it
    return best[ROOM - 1]


def goertzel(samples: float32[128], factors: float32[4], powers: float32[4]):
    """The power of four frequencies in a signal (Goertzel 1958)."""
    for f in range(4):
        last: float32 = 0.0
        before: float32 = 0.0
        for n in range(128):
            now: float32 = samples[n] + factors[f] * last - before
            before = last
            last = now
        powers[f] = last * last + before * before - factors[f] * last * before


def reed_solomon(received: uint8[255], syndromes: uint8[8]):
    """Syndromes of a word of a Reed-Solomon code over GF(256), by Horner's rule (Peterson 1960)."""
    sums: uint8[8]
    for z in range(8):
        sums[z] = 0
    for n in range(255):
        for s in range(8):
            value: UInt(16) = sums[s]
            for step in range(s):
                value = value << 1
                if (value & 0x100) != 0:
                    value = value ^ 0x11D
            sums[s] = value ^ received[n]
    for y in range(8):
        syndromes[y] = sums[y]


def kmeans(points: int16[POINTS, 2], centres: int16[CENTRES, 2], sums: int32[CENTRES, 3]):
    """One step of k-means: each point is added to the sums of its nearest centre (Lloyd 1982)."""
    for p in range(POINTS):
        nearest: int32 = 0
        least: int32 = 0x7FFFFFFF
        for c in range(CENTRES):
            dx: int32 = points[p, 0] - centres[c, 0]
            dy: int32 = points[p, 1] - centres[c, 1]
            distance: int32 = dx * dx + dy * dy
            if distance < least:
                least = distance
                nearest = c
        sums[nearest, 0] += points[p, 0]
        sums[nearest, 1] += points[p, 1]
        sums[nearest, 2] += 1


def sobel(image: uint8[SIZE, SIZE], edges: uint8[SIZE, SIZE]):
    """Edges of an image: the sum of both gradients, at most 255 (Sobel and Feldman 1968)."""
    for r in range(1, SIZE - 1):
        for c in range(1, SIZE - 1):
            across: int32 = 0
            down: int32 = 0
            for k in range(3):
                weight: int32 = 2 - ((k + 1) & 1)
                across += weight * (image[r + k - 1, c + 1] - image[r + k - 1, c - 1])
                down += weight * (image[r + 1, c + k - 1] - image[r - 1, c + k - 1])
            if across < 0:
                across = -across
            if down < 0:
                down = -down
            total: int32 = across + down
            if total > 255:
                total = 255
            edges[r, c] = total


def square_roots(values: uint32[POINTS], roots: uint32[POINTS]):
    """Integer square roots, a bit of the root at a time (Woo, "Square root by abacus algorithm", 1985)."""
    for n in range(POINTS):
        rest: uint32 = values[n]
        root: uint32 = 0
        for step in range(16):
            bit: uint32 = 1 << (30 - 2 * step)
            tried: uint32 = root + bit
            root = root >> 1
            if rest >= tried:
                rest = rest - tried
                root = root + bit
        roots[n] = root


def thomas(below: float32[32], middle: float32[32], above: float32[32], right: float32[32]):
    """A tridiagonal system of equations, solved in place (Thomas 1949)."""
    for n in range(1, 32):
        factor: float32 = below[n] / middle[n - 1]
        middle[n] = middle[n] - factor * above[n - 1]
        right[n] = right[n] - factor * right[n - 1]
    right[31] = right[31] / middle[31]
    for m in range(31):
        right[30 - m] = (right[30 - m] - above[30 - m] * right[31 - m]) / middle[30 - m]


def longest_match(text: uint8[256], at: int32) -> int32:
    """The longest match in the window in front of a place, and its length (Ziv and Lempel 1977)."""
    best: int32 = 0
    for back in range(1, WINDOW):
        length: int32 = 0
        going: int32 = 1
        for k in range(16):
            if at - back >= 0 and text[at - back + k] != text[at + k]:
                going = 0
            length += going
        if length > (best & 31):
            best = (back << 5) | length
    return best


LOOPS: dict[str, tuple[str, ...]] = {
    "xtea": ("r",),
    "siphash": ("r",),
    "knapsack": ("r",),
    "goertzel": ("n",),
    "reed_solomon": ("s",),
    "kmeans": ("c",),
    "sobel": ("c",),
    "square_roots": ("n",),
    "thomas": ("n", "m"),
    "longest_match": ("k",),
}
KERNELS = {
    k.__name__: k
    for k in (
        xtea, siphash, knapsack, goertzel, reed_solomon, kmeans, sobel, square_roots, thomas,
        longest_match,
    )
}  # fmt: skip


def schedule(name: str) -> Schedule:
    """A kernel with its innermost loops as pipelines.

    Raises:
        KeyError: when there is no such kernel.
    """
    return pipelined(KERNELS[name], LOOPS[name])
