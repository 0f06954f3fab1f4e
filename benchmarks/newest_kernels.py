"""Kernels of published algorithms that no estimate was made of before the model of now was closed.

``benchmarks/estimate_halves.py`` measures them as its group ``fresh``: ciphers, hashes, number theory, line
codes, graphics, sorting, wavelets, text and search. They were written, and their sizes and pipelines chosen,
before an estimate of one was seen, and none was changed afterwards.
"""

from __future__ import annotations

import numpy as np

from allo.customize import Schedule
from allo.ir.types import int16, int32, uint8, uint16, uint32
from benchmarks.kernels import pipelined

BLOCKS, PAIRS, BYTES, SIDE, POINTS, STEPS, KEYS, SAMPLES, QUEENS = (
    16,
    32,
    48,
    32,
    64,
    24,
    64,
    128,
    6,
)

sines = np.array([int(abs(np.sin(i + 1)) * 2**32) for i in range(64)], np.uint32)
turns = np.array([7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21], np.uint8)
letters = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8
).copy()


def speck(text: uint32[BLOCKS, 2], keys: uint32[27]):
    """Speck of 64 bits with round keys made before (Beaulieu et al., "Simon and Speck", 2013)."""
    for n in range(BLOCKS):
        x: uint32 = text[n, 1]
        y: uint32 = text[n, 0]
        for r in range(27):
            x = (((x >> 8) | (x << 24)) + y) ^ keys[r]
            y = ((y << 3) | (y >> 29)) ^ x
        text[n, 1] = x
        text[n, 0] = y


def md5(block: uint32[16], state: uint32[4]):
    """One block of MD5 (Rivest, RFC 1321, 1992)."""
    sine: uint32[64] = sines
    turn: uint8[16] = turns
    a: uint32 = state[0]
    b: uint32 = state[1]
    c: uint32 = state[2]
    d: uint32 = state[3]
    for i in range(64):
        f: uint32 = 0
        g: int32 = 0
        if i < 16:
            f = (b & c) | (~b & d)
            g = i
        elif i < 32:
            f = (d & b) | (~d & c)
            g = (5 * i + 1) & 15
        elif i < 48:
            f = b ^ c ^ d
            g = (3 * i + 5) & 15
        else:
            f = c ^ (b | ~d)
            g = (7 * i) & 15
        total: uint32 = a + f + sine[i] + block[g]
        by: uint8 = turn[((i >> 4) << 2) | (i & 3)]
        a = d
        d = c
        c = b
        b = b + ((total << by) | (total >> (32 - by)))
    state[0] += a
    state[1] += b
    state[2] += c
    state[3] += d


def binary_gcd(left: uint32[PAIRS], right: uint32[PAIRS], divisors: uint32[PAIRS]):
    """Greatest common divisors by shifts and differences (Stein 1967)."""
    for n in range(PAIRS):
        a: uint32 = left[n]
        b: uint32 = right[n]
        shift: uint8 = 0
        while a != 0:
            if (a & 1) == 0 and (b & 1) == 0:
                a = a >> 1
                b = b >> 1
                shift = shift + 1
            elif (a & 1) == 0:
                a = a >> 1
            elif (b & 1) == 0:
                b = b >> 1
            elif a >= b:
                a = (a - b) >> 1
            else:
                b = (b - a) >> 1
        divisors[n] = b << shift


def bit_stuffing(data: uint8[BYTES], line: uint8[64]) -> int32:
    """A zero behind five ones, as HDLC's frames have it (ISO 13239); how many bits there are."""
    ones: int32 = 0
    filled: int32 = 0
    word: uint8 = 0
    for n in range(BYTES * 8):
        bit: uint8 = (data[n >> 3] >> (n & 7)) & 1
        word = word | (bit << (filled & 7))
        filled += 1
        ones = ones + 1 if bit == 1 else 0
        if (filled & 7) == 0:
            line[(filled >> 3) - 1] = word
            word = 0
        if ones == 5:
            ones = 0
            filled += 1
            if (filled & 7) == 0:
                line[(filled >> 3) - 1] = word
                word = 0
    line[filled >> 3] = word
    return filled


def bresenham(ends: int16[POINTS, 4], image: uint8[SIDE, SIDE]):
    """Lines drawn into an image without products (Bresenham 1965)."""
    for n in range(POINTS):
        x: int16 = ends[n, 0]
        y: int16 = ends[n, 1]
        across: int16 = ends[n, 2] - x
        down: int16 = ends[n, 3] - y
        right: int16 = 1
        below: int16 = 1
        if across < 0:
            across = -across
            right = -1
        if down < 0:
            down = -down
            below = -1
        error: int16 = across - down
        going: int32 = 1
        while going == 1:
            image[y, x] = 255
            if x == ends[n, 2] and y == ends[n, 3]:
                going = 0
            twice: int16 = 2 * error
            if twice > -down:
                error = error - down
                x = x + right
            if twice < across:
                error = error + across
                y = y + below


def mandelbrot(counts: uint8[SIDE, SIDE]):
    """How soon points leave the Mandelbrot set, in fixed point with 13 places (Brooks and Matelski 1978)."""
    for r in range(SIDE):
        for c in range(SIDE):
            re: int32 = c * 512 - 16384 + 2048
            im: int32 = r * 512 - 8192
            x: int32 = 0
            y: int32 = 0
            count: uint8 = 0
            for k in range(STEPS):
                xx: int32 = (x * x) >> 13
                yy: int32 = (y * y) >> 13
                if xx + yy < 32768:
                    y = ((x * y) >> 12) + im
                    x = xx - yy + re
                    count = count + 1
            counts[r, c] = count


def shell_sort(keys: int32[KEYS]):
    """Insertion into rows with gaps that halve (Shell 1959)."""
    gap: int32 = KEYS // 2
    while gap > 0:
        for i in range(gap, KEYS):
            key: int32 = keys[i]
            j: int32 = i
            while j >= gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                j = j - gap
            keys[j] = key
        gap = gap >> 1


def haar(signal: int16[SAMPLES], waves: int16[SAMPLES]):
    """All levels of the Haar transform by lifting, in whole numbers (Sweldens 1996)."""
    low: int16[SAMPLES]
    for z in range(SAMPLES):
        low[z] = signal[z]
    half: int32 = SAMPLES // 2
    for level in range(7):
        for n in range(half):
            even: int16 = low[2 * n]
            odd: int16 = low[2 * n + 1]
            detail: int16 = odd - even
            waves[half + n] = detail
            low[n] = even + (detail >> 1)
        half = half >> 1
    waves[0] = low[0]


def base64(data: uint8[BYTES], text: uint8[64]):
    """Three bytes as four letters (Josefsson, RFC 4648, 2006)."""
    table: uint8[64] = letters
    for n in range(BYTES // 3):
        word: uint32 = 0
        for k in range(3):
            word = (word << 8) | data[3 * n + k]
        for m in range(4):
            text[4 * n + m] = table[(word >> (18 - 6 * m)) & 63]


def queens() -> int32:
    """The placements of queens on a board, by masks of columns and diagonals (Richards 1997)."""
    free: uint16[QUEENS + 1]
    columns: uint16[QUEENS + 1]
    left: uint16[QUEENS + 1]
    right: uint16[QUEENS + 1]
    full: uint16 = (1 << QUEENS) - 1
    count: int32 = 0
    row: int32 = 0
    free[0] = full
    columns[0] = 0
    left[0] = 0
    right[0] = 0
    while row >= 0:
        choices: uint16 = free[row]
        if choices == 0:
            row = row - 1
        else:
            queen: uint16 = choices & (~choices + 1)
            free[row] = choices ^ queen
            taken: uint16 = columns[row] | queen
            if taken == full:
                count += 1
            else:
                above: uint16 = ((left[row] | queen) << 1) & full
                below: uint16 = (right[row] | queen) >> 1
                row = row + 1
                columns[row] = taken
                left[row] = above
                right[row] = below
                free[row] = full & ~(taken | above | below)
    return count


LOOPS: dict[str, tuple[str, ...]] = {
    "speck": ("r",),
    "md5": ("i",),
    "binary_gcd": (),
    "bit_stuffing": ("n",),
    "bresenham": (),
    "mandelbrot": ("k",),
    "shell_sort": (),
    "haar": ("z", "n"),
    "base64": ("n",),
    "queens": (),
}
KERNELS = {
    k.__name__: k
    for k in (
        speck, md5, binary_gcd, bit_stuffing, bresenham, mandelbrot, shell_sort, haar, base64, queens,
    )
}  # fmt: skip


def schedule(name: str) -> Schedule:
    """A kernel with its innermost loops as pipelines.

    Raises:
        KeyError: when there is no such kernel.
    """
    return pipelined(KERNELS[name], LOOPS[name])
