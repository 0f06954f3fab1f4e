"""Kernels that no estimate was made of before the model was closed.

``benchmarks/estimate_halves.py`` measures them as its group ``fresh``: PolyBench, signal processing, codes,
sorting, images and a cipher. They were written, and their sizes and pipelines chosen, before an estimate of
one was seen, and none was changed afterwards.
"""

from __future__ import annotations

from allo.customize import Schedule
from allo.ir.types import float32, int16, int32, uint8, uint16, uint32
from benchmarks.kernels import pipelined

NODES, ROWS, SAMPLES, RATE, POINTS, CODES, KEYS, RANGE, SIZE, WIDE = (
    16,
    16,
    256,
    8,
    64,
    64,
    128,
    64,
    20,
    32,
)


def floyd_warshall(paths: int32[NODES, NODES]):
    """The shortest paths between all nodes (PolyBench)."""
    for k in range(NODES):
        for i in range(NODES):
            for j in range(NODES):
                through: int32 = paths[i, k] + paths[k, j]
                if through < paths[i, j]:
                    paths[i, j] = through


def atax(a: float32[ROWS, ROWS], x: float32[ROWS], y: float32[ROWS]):
    """A matrix, its transpose and a vector (PolyBench)."""
    for z in range(ROWS):
        y[z] = 0.0
    for i in range(ROWS):
        total: float32 = 0.0
        for j in range(ROWS):
            total += a[i, j] * x[j]
        for k in range(ROWS):
            y[k] = y[k] + a[i, k] * total


def cic(samples: int16[SAMPLES], out: int32[SAMPLES // RATE]):
    """A decimating filter of three integrators and three combs (Hogenauer 1981)."""
    first: int32 = 0
    second: int32 = 0
    third: int32 = 0
    old: int32[3]
    for z in range(3):
        old[z] = 0
    for n in range(SAMPLES):
        third = third + second
        second = second + first
        first = first + samples[n]
        if (n & (RATE - 1)) == RATE - 1:
            a: int32 = third - old[0]
            b: int32 = a - old[1]
            out[n >> 3] = b - old[2]
            old[0] = third
            old[1] = a
            old[2] = b


def walsh_hadamard(values: int32[POINTS]):
    """The fast Walsh-Hadamard transform, in place (Fino and Algazi 1976)."""
    for stage in range(6):
        for k in range(POINTS // 2):
            low: int32 = ((k >> stage) << (stage + 1)) | (k & ((1 << stage) - 1))
            high: int32 = low + (1 << stage)
            a: int32 = values[low]
            b: int32 = values[high]
            values[low] = a + b
            values[high] = a - b


def leb128(coded: uint8[SAMPLES], numbers: uint32[SAMPLES]) -> int32:
    """Numbers of seven bits a byte, the lowest first (DWARF 4, section 7.6)."""
    found: int32 = 0
    value: uint32 = 0
    shift: int32 = 0
    for n in range(SAMPLES):
        byte: uint8 = coded[n]
        value = value | (byte & 127) << shift
        shift = shift + 7
        if byte < 128:
            numbers[found] = value
            found = found + 1
            value = 0
            shift = 0
    return found


def hamming(words: uint16[CODES], data: uint16[CODES]) -> int32:
    """Words of a Hamming code (15, 11) with one wrong bit set right (Hamming 1950)."""
    wrong: int32 = 0
    for n in range(CODES):
        word: uint32 = words[n]
        syndrome: uint32 = 0
        for bit in range(1, 16):
            if ((word >> (bit - 1)) & 1) == 1:
                syndrome = syndrome ^ bit
        if syndrome != 0:
            word = word ^ (1 << (syndrome - 1))
            wrong += 1
        data[n] = ((word >> 2) & 1) | ((word >> 3) & 14) | ((word >> 4) & 0x7F0)
    return wrong


def counting_sort(keys: uint8[KEYS], ordered: uint8[KEYS]):
    """Keys below 64 in order, by how many there are of each (Seward 1954)."""
    places: int32[RANGE]
    for z in range(RANGE):
        places[z] = 0
    for n in range(KEYS):
        places[keys[n] & 63] += 1
    total: int32 = 0
    for r in range(RANGE):
        count: int32 = places[r]
        places[r] = total
        total += count
    for m in range(KEYS):
        key: uint8 = keys[m]
        at: int32 = places[key & 63]
        ordered[at] = key
        places[key & 63] = at + 1


def dilate(image: uint8[SIZE, SIZE], grown: uint8[SIZE, SIZE]):
    """The largest of nine pixels (Serra 1982)."""
    for r in range(1, SIZE - 1):
        for c in range(1, SIZE - 1):
            most: uint8 = 0
            for k in range(3):
                for m in range(3):
                    pixel: uint8 = image[r + k - 1, c + m - 1]
                    if pixel > most:
                        most = pixel
            grown[r, c] = most


def resize(image: uint8[SIZE, SIZE], larger: uint8[WIDE, WIDE]):
    """An image 1.6 times as large, by four neighbours with weights of eight bits."""
    for r in range(WIDE):
        for c in range(WIDE):
            y: int32 = r * 152
            x: int32 = c * 152
            fy: int32 = y & 255
            fx: int32 = x & 255
            above: int32 = image[y >> 8, x >> 8] * (256 - fx) + image[y >> 8, (x >> 8) + 1] * fx
            below: int32 = (
                image[(y >> 8) + 1, x >> 8] * (256 - fx) + image[(y >> 8) + 1, (x >> 8) + 1] * fx
            )
            larger[r, c] = (above * (256 - fy) + below * fy + 32768) >> 16


def rc4(key: uint8[16], stream: uint8[SAMPLES]):
    """The key stream of RC4 (Rivest 1987, as published in 1994)."""
    state: uint8[256]
    for z in range(256):
        state[z] = z
    j: uint8 = 0
    for n in range(256):
        j = j + state[n] + key[n & 15]
        moved: uint8 = state[n]
        state[n] = state[j]
        state[j] = moved
    a: uint8 = 0
    b: uint8 = 0
    for m in range(SAMPLES):
        a = a + 1
        first: uint8 = state[a]
        b = b + first
        second: uint8 = state[b]
        state[a] = second
        state[b] = first
        place: uint8 = first + second
        stream[m] = state[place]


LOOPS: dict[str, tuple[str, ...]] = {
    "floyd_warshall": ("j",),
    "atax": ("j", "k"),
    "cic": ("n",),
    "walsh_hadamard": ("k",),
    "leb128": ("n",),
    "hamming": ("n",),
    "counting_sort": ("n", "r", "m"),
    "dilate": ("m",),
    "resize": ("c",),
    "rc4": ("n", "m"),
}
KERNELS = {
    k.__name__: k
    for k in (
        floyd_warshall, atax, cic, walsh_hadamard, leb128, hamming, counting_sort, dilate, resize, rc4,
    )
}  # fmt: skip


def schedule(name: str) -> Schedule:
    """A kernel with its innermost loops as pipelines.

    Raises:
        KeyError: when there is no such kernel.
    """
    return pipelined(KERNELS[name], LOOPS[name])
