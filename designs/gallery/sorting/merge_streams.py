# ruff: noqa: B007  (loops have names for the schedule)
"""Merge: two sorted streams become one, an element a cycle.

A process keeps the head of each stream, hands on the smaller, and takes the next element of the stream
that it came from. Both streams end with an element that is larger than any other.

Hardware: three processes feed and collect, and one with two registers and a comparator merges. FIFOs
join them, so that each may come from anywhere: a memory, a network, another merge.

Interval: nothing holds it up, as it is written. Which stream to read is decided by the comparison of the
iteration before, `from_left`, so it is known when an iteration begins. A loop that compares first and
then reads would have to wait inside its pipeline for a stream, and would not overlap iterations.

Source: D. E. Knuth, The Art of Computer Programming, volume 3, section 5.2.4.

Used in: external sorting, log-structured databases, event queues
"""

from __future__ import annotations

import numpy as np

import allo.dataflow as df
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, uint1, uint16

N = 64
END = 2**16
Key = UInt(17)


@df.region()
def merge_streams(A: uint16[N], B: uint16[N], C: uint16[2 * N]):
    """Merge the sorted arrays ``A`` and ``B`` of ``N`` elements into the sorted array ``C``."""
    left: Stream[Key, 4]
    right: Stream[Key, 4]
    merged: Stream[uint16, 4]

    @df.kernel(mapping=[1], args=[A])
    def feed_left(a: uint16[N]):
        for i in range(N + 1):
            word: Key = END
            if i < N:
                word = a[i]
            left.put(word)

    @df.kernel(mapping=[1], args=[B])
    def feed_right(b: uint16[N]):
        for j in range(N + 1):
            word: Key = END
            if j < N:
                word = b[j]
            right.put(word)

    @df.kernel(mapping=[1])
    def merge():
        x: Key = 0
        y: Key = right.get()
        from_left: uint1 = 1
        for n in range(2 * N):
            if from_left == 1:
                x = left.get()
            else:
                y = right.get()
            from_left = x <= y
            least: uint16 = min(x, y)
            merged.put(least)

    @df.kernel(mapping=[1], args=[C])
    def collect(c: uint16[2 * N]):
        for k in range(2 * N):
            c[k] = merged.get()


def schedule() -> Schedule:
    """An element a cycle, where the streams allow."""
    s = df.customize(merge_streams)
    for loop in ("feed_left_0:i", "feed_right_0:j", "merge_0:n", "collect_0:k"):
        s.pipeline(loop)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Two sorted sequences, some elements equal."""
    a, b = (np.sort(rng.integers(0, 2**10, N, np.uint16)) for _ in range(2))
    return a, b, np.zeros(2 * N, np.uint16)


def reference(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    """A sort of both."""
    c[:] = np.sort(np.concatenate([a, b]))
