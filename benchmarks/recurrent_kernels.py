"""Loops that wait for themselves: each iteration needs what the one before has computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import allo
from allo.ir.types import float32, int16, int32, uint4, uint8, uint32

N, M, K, BINS = 1024, 64, 8, 256


def crc32(data: uint8[N]) -> uint32:
    """The CRC of Ethernet, a byte an iteration."""
    crc: uint32 = 0xFFFFFFFF
    for i in range(N):
        crc = crc ^ data[i]
        for _step in range(8):
            if (crc & 1) == 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc = crc >> 1
    return ~crc


def automaton(text: uint8[N]) -> int32:
    """How often a state machine of five states has seen its word."""
    state: uint4 = 0
    count: int32 = 0
    for i in range(N):
        letter: uint8 = text[i]
        if state == 0:
            if letter == 97:
                state = 1
            elif letter == 98:
                state = 2
        elif state == 1:
            if letter == 98:
                state = 3
            elif letter != 97:
                state = 0
        elif state == 2:
            if letter == 97:
                state = 4
            else:
                state = 0
        elif state == 3:
            if letter == 99:
                count = count + 1
                state = 0
            elif letter == 97:
                state = 1
            else:
                state = 2
        else:
            if letter == 98:
                state = 3
            else:
                state = 0
    return count


def argmax(A: float32[N]) -> int32:
    """The place of the largest number."""
    best: float32 = A[0]
    at: int32 = 0
    for i in range(1, N):
        if A[i] > best:
            best = A[i]
            at = i
    return at


def merge(A: int32[N], B: int32[N], C: int32[2 * N]):
    """Two sorted arrays as one."""
    i: int32 = 0
    j: int32 = 0
    for k in range(2 * N):
        if j >= N or (i < N and A[i] <= B[j]):
            C[k] = A[i]
            i = i + 1
        else:
            C[k] = B[j]
            j = j + 1


def lfsr32(out: uint32[N]):
    """A shift register with feedback, 32 steps an iteration."""
    s: uint32 = 1
    for i in range(N):
        for _step in range(32):
            bit: uint32 = (s ^ (s >> 10) ^ (s >> 30) ^ (s >> 31)) & 1
            s = (s >> 1) | (bit << 31)
        out[i] = s


def edit_distance(a: uint8[M], b: uint8[M]) -> int16:
    """Levenshtein's distance of two words, one row of the table kept."""
    row: int16[M + 1] = 0
    for p in range(M + 1):
        row[p] = p
    for i in range(M):
        diagonal: int16 = i
        left: int16 = i + 1
        for j in range(M):
            above: int16 = row[j + 1]
            cost: int16 = 0 if a[i] == b[j] else 1
            replaced: int16 = diagonal + cost
            dropped: int16 = above + 1
            added: int16 = left + 1
            best: int16 = min(min(replaced, dropped), added)
            diagonal = above
            left = best
            row[j + 1] = best
    return row[M]


def top_k(A: int32[N], T: int32[K]):
    """The eight largest numbers."""
    kept: int32[K] = -2147483648
    for i in range(N):
        v: int32 = A[i]
        for k in range(K):
            if v > kept[k]:
                w: int32 = kept[k]
                kept[k] = v
                v = w
    for p in range(K):
        T[p] = kept[p]


def float_sum(A: float32[N]) -> float32:
    """A sum in the order of the array."""
    total: float32 = 0
    for i in range(N):
        total += A[i]
    return total


def exact_sum(A: float32[N]) -> float32:
    """The same sum without rounding on the way: ``s.accumulate``."""
    total: float32 = 0
    for i in range(N):
        total += A[i]
    return total


def histogram(bins: uint8[N], W: float32[N], H: float32[BINS]):
    """Weights by bin."""
    for i in range(N):
        H[bins[i]] += W[i]


def row_sums(value: float32[N], row: int32[N], column: int32[N], x: float32[M], y: float32[M]):
    """A sparse matrix, as a list of its elements, times a vector."""
    for i in range(N):
        y[row[i]] += value[i] * x[column[i]]


def iir(x: float32[N], y: float32[N]):
    """A recursive filter of second order."""
    y1: float32 = 0
    y2: float32 = 0
    for i in range(N):
        v: float32 = x[i] - 0.5 * y1 - 0.25 * y2
        y2 = y1
        y1 = v
        y[i] = v


def binary_search(A: int32[N], wanted: int32[M], found: int32[M]):
    """Where numbers are in a sorted array."""
    for t in range(M):
        low: int32 = 0
        for s in range(10):
            step: int32 = 512 >> s
            if A[low + step] <= wanted[t]:
                low = low + step
        found[t] = low


def _bytes(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 256, N).astype(np.uint8)


def _floats(rng: np.random.Generator, n: int = N) -> np.ndarray:
    return rng.standard_normal(n).astype(np.float32)


def _sorted(rng: np.random.Generator, high: int = 1000, low: int = -1000) -> np.ndarray:
    return np.sort(rng.integers(low, high, N)).astype(np.int32)


@dataclass(frozen=True)
class Recurrence:
    """A loop to measure.

    Attributes:
        loop: the one that is pipelined; ``unrolled`` is inside it, ``apart`` an array in registers.
        exact: whether its sum is added up exactly.
        ii: by clock in MHz, the interval that is wanted.
        arguments: random ones.
    """

    kernel: Callable[..., Any]
    loop: str
    ii: dict[int, int]
    arguments: Callable[[np.random.Generator], list[np.ndarray]]
    unrolled: str = ""
    apart: str = ""
    exact: bool = False

    def schedule(self) -> Any:
        """The kernel with its loop pipelined."""
        s = allo.customize(self.kernel)
        if self.apart:
            s.partition(getattr(s, self.apart))
        if self.unrolled:
            s.unroll(self.unrolled)
        if self.exact:
            s.accumulate(self.loop, exact=True)
        s.pipeline(self.loop)
        return s


def _wanted(ii: int) -> dict[int, int]:
    return {300: ii, 100: ii}


RECURRENCES = (
    Recurrence(crc32, "i", _wanted(1), lambda r: [_bytes(r)], "_step"),
    Recurrence(automaton, "i", _wanted(1), lambda r: [r.integers(96, 101, N).astype(np.uint8)]),
    Recurrence(argmax, "i", _wanted(2), lambda r: [_floats(r)]),
    Recurrence(
        merge, "k", _wanted(2), lambda r: [_sorted(r), _sorted(r), np.zeros(2 * N, np.int32)]
    ),
    Recurrence(lfsr32, "i", _wanted(1), lambda r: [np.zeros(N, np.uint32)], "_step"),
    Recurrence(
        edit_distance,
        "j",
        _wanted(1),
        lambda r: [r.integers(0, 4, M).astype(np.uint8) for _ in range(2)],
    ),
    Recurrence(
        top_k,
        "i",
        _wanted(1),
        lambda r: [r.integers(-(2**31), 2**31, N).astype(np.int32), np.zeros(K, np.int32)],
        "k",
        "kept",
    ),
    Recurrence(float_sum, "i", _wanted(3), lambda r: [_floats(r)]),
    Recurrence(exact_sum, "i", _wanted(1), lambda r: [_floats(r)], exact=True),
    Recurrence(
        histogram, "i", _wanted(4), lambda r: [_bytes(r), _floats(r), np.zeros(BINS, np.float32)]
    ),
    Recurrence(
        row_sums,
        "i",
        _wanted(3),
        lambda r: [
            _floats(r),
            _sorted(r, M, 0),
            r.integers(0, M, N).astype(np.int32),
            _floats(r, M),
            np.zeros(M, np.float32),
        ],
    ),
    Recurrence(iir, "i", _wanted(6), lambda r: [_floats(r), np.zeros(N, np.float32)]),
    Recurrence(
        binary_search,
        "s",
        _wanted(2),
        lambda r: [
            _sorted(r),
            r.integers(-1000, 1000, M).astype(np.int32),
            np.zeros(M, np.int32),
        ],
    ),
)
