"""What a query of blocked attention sees: functions of one line for :mod:`.flash`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from allo.ir.types import float32, int32

INFINITY = float("inf")
Modification = Callable[..., Any]


def everything(score: float32, head: int32, query: int32, key: int32) -> float32:
    """Every key."""
    return score


def causal(score: float32, head: int32, query: int32, key: int32) -> float32:
    """The keys up to the query's own position."""
    return score if key <= query else -INFINITY


def sliding_window(size: int) -> Modification:
    """The last ``size`` keys up to the query's own position."""

    def windowed(score: float32, head: int32, query: int32, key: int32) -> float32:
        return score if key <= query and key > query - size else -INFINITY

    return windowed


def prefix(length: int) -> Modification:
    """The first ``length`` keys, and those up to the query's own position."""

    def prefixed(score: float32, head: int32, query: int32, key: int32) -> float32:
        return score if key <= query or key < length else -INFINITY

    return prefixed


def alibi(slopes: Sequence[float]) -> Modification:
    """Causal; a score falls with the distance of its key, by the head's slope for each position.

    "Train short, test long" (Press et al. 2022, arXiv:2108.12409) takes ``2 ** (-8 * (h + 1) / heads)``.
    """
    table = np.array(slopes, np.float32)

    def falling(score: float32, head: int32, query: int32, key: int32) -> float32:
        return score + table[head] * (key - query) if key <= query else -INFINITY

    return falling
