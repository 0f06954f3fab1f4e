"""MachSuite sort/radix, uint32: counting sort by two bits at a time, in blocks of four elements."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int32, uint1, uint32

# Numbers, blocks, buckets, stretches of buckets that are summed by themselves.
SIZES = {"tiny": (64, 16, 64, 8), "full": (2048, 512, 2048, 128)}
BLOCK = 4
RADIX = 4


def histogram[N, B, K](bucket: int32[K], a: uint32[N], shift: int32):
    """How many numbers of each block have each digit; digit by digit, block by block."""
    for z in range(K):
        bucket[z] = 0
    for b, i in allo.grid(B, BLOCK, name="count"):
        digit: int32 = (a[b * BLOCK + i] >> shift) & (RADIX - 1)
        bucket[digit * B + b] += 1


def scan[K, S](bucket: int32[K], sums: int32[S]):
    """Running sums over the buckets: within stretches, over their ends, then both together."""
    for r in range(S):
        for i in range(1, K // S):
            bucket[r * (K // S) + i] += bucket[r * (K // S) + i - 1]
    sums[0] = 0
    for t in range(1, S):
        sums[t] = sums[t - 1] + bucket[t * (K // S) - 1]
    for u, v in allo.grid(S, K // S, name="together"):
        bucket[u * (K // S) + v] += sums[u]


def place[N, B, K](target: uint32[N], bucket: int32[K], source: uint32[N], shift: int32):
    """Every number goes behind those of smaller digit and those before it of the same digit."""
    start: int32[K]
    start[0] = 0
    for c in range(1, K):
        start[c] = bucket[c - 1]
    for b, i in allo.grid(B, BLOCK, name="place"):
        number: uint32 = source[b * BLOCK + i]
        at: int32 = ((number >> shift) & (RADIX - 1)) * B + b
        target[start[at]] = number
        start[at] += 1


def ss_sort[N, B, K, S](a: uint32[N], b: uint32[N]):
    """Sorts ``a`` in place; ``b`` is scratch."""
    bucket: int32[K]
    sums: int32[S]
    in_b: uint1 = 0
    for exp in range(0, 32, 2):
        if in_b:
            histogram[N, B, K](bucket, b, exp)
        else:
            histogram[N, B, K](bucket, a, exp)
        scan[K, S](bucket, sums)
        if in_b:
            place[N, B, K](a, bucket, b, exp)
        else:
            place[N, B, K](b, bucket, a, exp)
        in_b = not in_b


def schedule(size: tuple[int, ...]) -> Schedule:
    """Every innermost loop is a pipeline."""
    s = allo.customize(ss_sort, instantiate=list(size))
    for loop in ("histogram:z", "histogram:i", "scan:i", "scan:t", "scan:v", "place:c", "place:i"):
        s.pipeline(loop)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random numbers over all of uint32."""
    return rng.integers(0, 2**32, size[0], np.uint32), np.zeros(size[0], np.uint32)


def reference(a: np.ndarray, b: np.ndarray) -> None:
    """NumPy's sort; the scratch array is left sorted by all but the last digit."""
    b[:] = a[np.argsort(a & 0x3FFFFFFF, kind="stable")]
    a.sort()
