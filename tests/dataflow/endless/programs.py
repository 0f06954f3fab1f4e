"""Regions with processes that never end, and what they compute in NumPy."""

from __future__ import annotations

import numpy as np

import allo.dataflow as df
from allo.ir.types import Stream, int32

N = 8


@df.region()
def passed_on(A: int32[N], B: int32[N]):
    s: Stream[int32, 2]
    t: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])

    @df.kernel(mapping=[1], args=[])
    def worker():
        while True:
            t.put(3 * s.get() + 1)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for i in range(N):
            b[i] = t.get()


@df.region()
def sums(A: int32[N], B: int32[N]):
    """It keeps a sum and a history from turn to turn, and starts afresh at each call."""
    s: Stream[int32, 2]
    t: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])

    @df.kernel(mapping=[1], args=[])
    def worker():
        total: int32 = 0
        last: int32[4] = 0
        while True:
            x: int32 = s.get()
            total += x
            oldest: int32 = last[3]
            for k in range(3):
                last[3 - k] = last[2 - k]
            last[0] = x
            t.put(total - oldest)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for i in range(N):
            b[i] = t.get()


@df.region()
def surplus(A: int32[N], B: int32[N]):
    """A generator that nobody stops, and words on their way when the region ends."""
    s: Stream[int32, 3]
    t: Stream[int32, 2]
    u: Stream[int32, 5]

    @df.kernel(mapping=[1], args=[])
    def counter():
        n: int32 = 0
        while True:
            s.put(n)
            n += 1

    @df.kernel(mapping=[2], args=[])
    def worker():
        p = df.get_pid()
        while True:
            with df.meta_if(p == 0):
                t.put(s.get() * 2)
            with df.meta_else():
                u.put(t.get() + 1)

    @df.kernel(mapping=[1], args=[A, B])
    def sink(a: int32[N], b: int32[N]):
        for i in range(N):
            b[i] = a[i] + u.get()


def forward(come: Stream[int32, 2], go: Stream[int32, 2]):
    while True:
        x: int32 = come.get()
        if x < 0:
            go.put(0 - x)
        else:
            go.put(x)


@df.region()
def helped(A: int32[N], B: int32[N]):
    """The loop stands in a function that the kernel calls."""
    s: Stream[int32, 2]
    t: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])

    @df.kernel(mapping=[1], args=[])
    def worker():
        forward(s, t)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for i in range(N):
            b[i] = t.get()


@df.region()
def packets(A: int32[N], B: int32[N]):
    """Each turn takes a packet: its length, then its words; a loop stands in the loop."""
    s: Stream[int32, 2]
    t: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            n: int32 = i % 3
            s.put(n)
            for k in range(n):
                s.put(a[i])

    @df.kernel(mapping=[1], args=[])
    def worker():
        while True:
            n: int32 = s.get()
            total: int32 = 0
            for k in range(n):
                total += s.get()
            t.put(total)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for i in range(N):
            b[i] = t.get()


@df.region()
def asked(A: int32[N], B: int32[N]):
    """A turn may wait for nothing at all."""
    s: Stream[int32, 2]
    t: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])

    @df.kernel(mapping=[1], args=[])
    def worker():
        turns: int32 = 0
        while True:
            turns += 1
            if turns % 4 == 0:
                t.put(s.get() - 1)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for i in range(N):
            b[i] = t.get()


@df.region()
def tried(A: int32[N], B: int32[N]):
    s: Stream[int32, 2]
    t: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])

    @df.kernel(mapping=[1], args=[])
    def worker():
        while True:
            x, ok = s.try_get()
            if ok:
                t.put(x + 5)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for i in range(N):
            b[i] = t.get()


@df.region()
def stage(a: int32[N], b: int32[N]):
    s: Stream[int32, 2]
    t: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[a])
    def source(x: int32[N]):
        for i in range(N):
            s.put(x[i])

    @df.kernel(mapping=[1], args=[])
    def worker():
        total: int32 = 0
        while True:
            total += s.get()
            t.put(total)

    @df.kernel(mapping=[1], args=[b])
    def sink(y: int32[N]):
        for i in range(N - 1):
            y[i] = t.get()
        y[N - 1] = 0


@df.region()
def nested(A: int32[N], B: int32[N]):
    """A region with such a process runs twice in each call, and words are left in it."""

    @df.kernel(mapping=[1], args=[A, B])
    def around(a: int32[N], b: int32[N]):
        middle: int32[N]
        stage(a, middle)
        stage(middle, b)


@df.region()
def broken(A: int32[N], B: int32[N]):
    """A break makes it a process that ends, and the region waits for it."""
    s: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])
        s.put(-1000)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        n: int32 = 0
        while True:
            x: int32 = s.get()
            if x == -1000:
                break
            b[n] = x
            n += 1


def _history(a: np.ndarray) -> np.ndarray:
    oldest = np.concatenate([np.zeros(4, np.int32), a[:-4]])
    return np.cumsum(a) - oldest


def _staged(a: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cumsum(a)[:-1], [0]])


EXPECTED = {
    "passed_on": lambda a: 3 * a + 1,
    "sums": _history,
    "surplus": lambda a: a + 2 * np.arange(N) + 1,
    "helped": np.abs,
    "packets": lambda a: a * (np.arange(N) % 3),
    "asked": lambda a: a - 1,
    "tried": lambda a: a + 5,
    "nested": lambda a: _staged(_staged(a)),
    "broken": lambda a: a,
}
"""By name of the region, what it leaves in B."""
