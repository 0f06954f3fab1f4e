"""Kernels written when flip-flops as memories, comparisons of choices and known bits had been mended.

``benchmarks/estimate_halves.py`` measures them as its group ``latest``: a stream cipher, checksums, curves,
codes, arithmetic of floats and fixed point, and images. Their sizes and pipelines were chosen, and the tools
asked, before an estimate of one was seen, and none was changed afterwards.
"""

from __future__ import annotations

import numpy as np

from allo.customize import Schedule
from allo.ir.types import UInt, int8, int16, int32, uint8, uint16, uint32
from benchmarks.kernels import pipelined

BYTES, POINTS, SIDE, WORDS, STEPS, BITS, SYMBOLS = 64, 32, 24, 16, 12, 128, 32

angles = np.array([int(round(np.arctan(2.0**-k) * 2**13)) for k in range(STEPS)], np.int16)


def a51(key: uint32[2], stream: uint8[BITS]):
    """The bits of A5/1 behind a key of 64 bits (Briceno, Goldberg and Wagner, 1999)."""
    first: UInt(19) = key[0]
    second: UInt(22) = key[1]
    third: UInt(23) = key[0] ^ key[1]
    for n in range(BITS):
        x: uint8 = (first >> 8) & 1
        y: uint8 = (second >> 10) & 1
        z: uint8 = (third >> 10) & 1
        most: uint8 = (x & y) | (x & z) | (y & z)
        if x == most:
            into: uint8 = ((first >> 13) ^ (first >> 16) ^ (first >> 17) ^ (first >> 18)) & 1
            first = (first << 1) | into
        if y == most:
            other: uint8 = ((second >> 20) ^ (second >> 21)) & 1
            second = (second << 1) | other
        if z == most:
            last: uint8 = ((third >> 7) ^ (third >> 20) ^ (third >> 21) ^ (third >> 22)) & 1
            third = (third << 1) | last
        stream[n] = ((first >> 18) ^ (second >> 21) ^ (third >> 22)) & 1


def adler32(data: uint8[BYTES]) -> uint32:
    """The checksum of zlib (Deutsch and Gailly, RFC 1950, 1996)."""
    low: uint32 = 1
    high: uint32 = 0
    for n in range(BYTES):
        low = low + data[n]
        if low >= 65521:
            low = low - 65521
        high = high + low
        if high >= 65521:
            high = high - 65521
    return (high << 16) | low


def hilbert(places: uint16[POINTS], xs: uint8[POINTS], ys: uint8[POINTS]):
    """Places on a Hilbert curve of 256 by 256 as columns and rows (Skilling 2004, after Butz 1971)."""
    for n in range(POINTS):
        left: uint16 = places[n]
        x: uint8 = 0
        y: uint8 = 0
        for k in range(8):
            side: uint8 = 1 << k
            right: uint8 = (left >> 1) & 1
            up: uint8 = (left ^ right) & 1
            if up == 0:
                if right == 1:
                    x = side - 1 - x
                    y = side - 1 - y
                held: uint8 = x
                x = y
                y = held
            if right == 1:
                x = x + side
            if up == 1:
                y = y + side
            left = left >> 2
        xs[n] = x
        ys[n] = y


def run_lengths(data: uint8[BYTES], pairs: uint8[2 * BYTES]) -> int32:
    """Bytes as lengths of runs and what they are of; how many bytes that takes."""
    filled: int32 = 0
    before: uint8 = data[0]
    length: uint8 = 0
    for n in range(BYTES):
        now: uint8 = data[n]
        if now == before and length != 255:
            length = length + 1
        else:
            pairs[filled] = length
            pairs[filled + 1] = before
            filled = filled + 2
            before = now
            length = 1
    pairs[filled] = length
    pairs[filled + 1] = before
    return filled + 2


def cordic(turns: int16[POINTS], sines: int16[POINTS], cosines: int16[POINTS]):
    """Sines and cosines by rotations, twelve bits (Volder 1959)."""
    table: int16[STEPS] = angles
    for n in range(POINTS):
        x: int16 = 4975
        y: int16 = 0
        left: int16 = turns[n]
        for k in range(STEPS):
            across: int16 = x >> k
            up: int16 = y >> k
            if left >= 0:
                x = x - up
                y = y + across
                left = left - table[k]
            else:
                x = x + up
                y = y - across
                left = left + table[k]
        sines[n] = y
        cosines[n] = x


def half_products(x: uint16[WORDS], y: uint16[WORDS], z: uint16[WORDS]):
    """Products of normal float16 by their bits, rounded to even; neither overflow nor subnormals."""
    for n in range(WORDS):
        a: uint16 = x[n]
        b: uint16 = y[n]
        exponent: int16 = ((a >> 10) & 31) + ((b >> 10) & 31) - 15
        left: UInt(11) = (a & 1023) | 1024
        right: UInt(11) = (b & 1023) | 1024
        product: UInt(22) = left * right
        if (product >> 21) == 0:
            product = product << 1
        else:
            exponent += 1
        kept: UInt(12) = product >> 11
        rest: UInt(11) = product
        if rest > 1024 or (rest == 1024 and (kept & 1) == 1):
            kept += 1
        if (kept >> 11) != 0:
            kept = kept >> 1
            exponent += 1
        bits: uint16 = exponent
        low: uint16 = kept
        z[n] = ((a ^ b) & 32768) | (bits << 10) | (low & 1023)


def move_to_front(data: uint8[BYTES], places: uint8[BYTES]):
    """Places of symbols in a list that each of them then heads (Bentley and others, 1986)."""
    known: uint8[SYMBOLS]
    for s in range(SYMBOLS):
        known[s] = s
    for n in range(BYTES):
        symbol: uint8 = data[n] & 31
        place: int32 = 0
        while known[place] != symbol:
            place += 1
        places[n] = place
        while place > 0:
            known[place] = known[place - 1]
            place -= 1
        known[0] = symbol


def local_peaks(image: uint8[SIDE, SIDE], peaks: uint8[SIDE, SIDE]):
    """Pixels that are larger than the four beside them."""
    for r in range(1, SIDE - 1):
        for c in range(1, SIDE - 1):
            here: uint8 = image[r, c]
            over: uint8 = max(image[r - 1, c], image[r + 1, c])
            beside: uint8 = max(image[r, c - 1], image[r, c + 1])
            peaks[r, c] = here if here > max(over, beside) else 0


def delta_codes(values: int16[BYTES], codes: int8[BYTES]) -> int32:
    """Differences that fit in a byte, limited; the sum of what is left over."""
    before: int32 = 0
    off: int32 = 0
    for n in range(BYTES):
        change: int32 = values[n] - before
        limited: int32 = min(max(change, -128), 127)
        before = before + limited
        codes[n] = limited
        off += abs(change - limited)
    return off


LOOPS: dict[str, tuple[str, ...]] = {
    "a51": ("n",),
    "adler32": ("n",),
    "hilbert": ("k",),
    "run_lengths": ("n",),
    "cordic": ("k",),
    "half_products": ("n",),
    "move_to_front": (),
    "local_peaks": ("c",),
    "delta_codes": ("n",),
}
KERNELS = {
    k.__name__: k
    for k in (
        a51, adler32, hilbert, run_lengths, cordic, half_products, move_to_front, local_peaks, delta_codes,
    )
}  # fmt: skip


def schedule(name: str) -> Schedule:
    """A kernel with its innermost loops as pipelines.

    Raises:
        KeyError: when there is no such kernel.
    """
    return pipelined(KERNELS[name], LOOPS[name])
