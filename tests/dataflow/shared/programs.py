# ruff: noqa: F823, F841 - the variables are those of the region around the kernels
"""Regions whose processes hand memory over to each other, and what they compute in NumPy."""

from __future__ import annotations

import allo.dataflow as df
from allo.ir.types import Stateful, Stream, int32

N = 4


@df.region()
def summed(A: int32[N], B: int32[N]):
    total: int32[N] @ Stateful = 5
    go: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A])
    def add(a: int32[N]):
        for i in range(N):
            total[i] = total[i] + a[i] * a[i]
        go.put(1)

    @df.kernel(mapping=[1], args=[B])
    def show(b: int32[N]):
        t: int32 = go.get()
        for i in range(N):
            b[i] = total[i]


@df.region()
def straight(A: int32[N], B: int32[N]):
    """The value is long in coming, and the put does not depend on it."""
    last: int32[2] @ Stateful = 5
    go: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A])
    def work(a: int32[N]):
        last[1] = a[1] * a[0] * a[2] * last[0]
        go.put(1)

    @df.kernel(mapping=[1], args=[B])
    def show(b: int32[N]):
        t: int32 = go.get()
        for i in range(N):
            b[i] = last[1] + i


@df.region()
def both_write(A: int32[N], B: int32[N]):
    """A scalar that the second process changes, too."""
    acc: int32 @ Stateful = 5
    go: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A])
    def up(a: int32[N]):
        acc = acc * 3 + a[0]
        go.put(acc + 1)

    @df.kernel(mapping=[1], args=[B])
    def down(b: int32[N]):
        b[1] = go.get()
        b[0] = acc
        b[2] = 0
        b[3] = 0
        acc = acc // 2


@df.region()
def chain(A: int32[N], B: int32[N]):
    """Three processes, one after the other."""
    x: int32[N] @ Stateful = 0
    one: Stream[int32, 1]
    two: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[N]):
        for i in range(N):
            x[i] += a[i]
        one.put(0)

    @df.kernel(mapping=[1])
    def second():
        w: int32 = one.get()
        for i in range(N):
            x[i] = x[i] * 2
        two.put(w)

    @df.kernel(mapping=[1], args=[B])
    def third(b: int32[N]):
        w: int32 = two.get()
        for i in range(N):
            b[i] = x[i] + w


def tally(v: int32) -> int32:
    n: int32 @ Stateful = 0
    n += v
    return n


@df.region()
def of_a_function(A: int32[N], B: int32[N]):
    """The state is that of a function which both call."""
    go: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def give(a: int32[N]):
        k: int32 = tally(a[0])
        go.put(k)

    @df.kernel(mapping=[1], args=[B])
    def take(b: int32[N]):
        k: int32 = go.get()
        for i in range(N):
            b[i] = tally(i) - k
