"""MachSuite kmp: Knuth, Morris and Pratt's search; counts the places of a pattern in a text."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int32, uint8

# Length of the pattern, length of the text.
SIZES = {"tiny": (4, 96), "full": (4, 32411)}


def failure[P](pattern: uint8[P], following: int32[P]):
    """For each prefix of the pattern, its longest proper prefix that also ends it."""
    k: int32 = 0
    following[0] = 0
    for q in range(1, P):
        while k > 0 and pattern[k] != pattern[q]:
            k = following[k - 1]
        if pattern[k] == pattern[q]:
            k += 1
        following[q] = k


def kmp_kernel[P, S](pattern: uint8[P], text: uint8[S], following: int32[P]) -> int32:
    """Places of the pattern in the text, overlapping ones too."""
    matches: int32 = 0
    q: int32 = 0
    failure[P](pattern, following)
    for i in range(S):
        while q > 0 and pattern[q] != text[i]:
            q = following[q - 1]
        if pattern[q] == text[i]:
            q += 1
        if q >= P:
            matches += 1
            q = following[q - 1]
    return matches


def schedule(size: tuple[int, ...]) -> Schedule:
    """Every loop has a while inside, so none is a pipeline; the pattern is held in registers."""
    s = allo.customize(kmp_kernel, instantiate=list(size))
    s.partition(s.pattern)
    s.partition(s.following)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A text of two letters, so that the pattern occurs and partial matches are many."""
    length, total = size
    pattern = rng.integers(97, 99, length, np.uint8)
    text = rng.integers(97, 99, total, np.uint8)
    return pattern, text, np.zeros(length, np.int32)


def reference(pattern: np.ndarray, text: np.ndarray, following: np.ndarray) -> int:
    """By comparing at every place, and prefix with suffix."""
    p = pattern.tobytes()
    for q in range(len(p)):
        following[q] = max(k for k in range(q + 1) if p[:k] == p[q + 1 - k : q + 1])
    windows = np.lib.stride_tricks.sliding_window_view(text, len(p))
    return int((windows == pattern).all(axis=1).sum())
