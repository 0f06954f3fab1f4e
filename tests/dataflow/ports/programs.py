"""Regions whose arguments are streams, and what they compute in NumPy."""

from __future__ import annotations

import numpy as np

import allo.dataflow as df
from allo.ir.types import Int, Stream, Struct, float32, int8, int16, int32

TABLE = np.arange(6, dtype=np.int32) * 11
Pair = Struct({"x": int16, "y": int16})


@df.region()
def once(A: Stream[int32, 2], B: Stream[int32, 2]):
    @df.kernel(mapping=[1], args=[])
    def k():
        B.put(A.get() + 1)


@df.region()
def counted(A: Stream[int32, 2], B: Stream[int32, 2], total: int32[1], n: int32):
    """A number of words that a scalar tells, and an array beside the streams."""
    s: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[])
    def first():
        for i in range(n):
            s.put(2 * A.get())

    @df.kernel(mapping=[1], args=[total])
    def second(t: int32[1]):
        t[0] = 0
        for i in range(n):
            x: int32 = s.get()
            t[0] += x
            B.put(x)


@df.region()
def forever(A: Stream[int32, 2], B: Stream[int16, 4]):
    """No process ends: it takes what there is."""
    t: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[])
    def products():
        while True:
            t.put(A.get() * A.get())

    @df.kernel(mapping=[1], args=[])
    def narrow():
        while True:
            B.put(t.get() + 1)


@df.region()
def packets(A: Stream[int32, 2], B: Stream[int32, 2]):
    """Packets without a bound, each ended by a zero; their sums come out."""

    @df.kernel(mapping=[1], args=[])
    def sums():
        total: int32 = 0
        while True:
            x: int32 = A.get()
            total += x
            if x == 0:
                B.put(total)
                total = 0


@df.region()
def joined(A: Stream[int32, 2], B: Stream[int32, 2], C: Stream[int32, 2]):
    @df.kernel(mapping=[1], args=[])
    def add():
        while True:
            C.put(A.get() + B.get())


@df.region()
def served(A: int32[6], B: int32[6], requests: Stream[int8, 2], answers: Stream[int32, 2]):
    """A process that ends beside one that does not."""
    s: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[])
    def table():
        values: int32[6] = TABLE
        while True:
            answers.put(values[requests.get()])

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[6]):
        for i in range(6):
            s.put(a[i] - 1)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[6]):
        for i in range(6):
            b[i] = s.get()


@df.region()
def blocks(A: Stream[float32[2, 3], 2], B: Stream[float32[3], 2]):
    @df.kernel(mapping=[1], args=[])
    def rows():
        while True:
            block: float32[2, 3] = A.get()
            top: float32[3]
            for j in range(3):
                top[j] = block[0, j] + block[1, j]
            B.put(top)


@df.region()
def odd(A: Stream[Int(70), 2], B: Stream[Int(5), 2]):
    """Words wider than 64 bits, and words of five."""

    @df.kernel(mapping=[1], args=[])
    def k():
        while True:
            B.put(A.get() >> 65)


@df.region()
def fields(A: Stream[Pair, 2], B: Stream[int32, 2]):
    @df.kernel(mapping=[1], args=[])
    def k():
        while True:
            p: Pair = A.get()
            B.put(p["x"] - p["y"])


@df.region()
def polled(A: Stream[int32, 2], B: Stream[int32, 2]):
    @df.kernel(mapping=[1], args=[])
    def k():
        while True:
            x, ok = A.try_get()
            if ok:
                B.put(x + 7)


@df.region()
def generated(B: Stream[int32, 2]):
    @df.kernel(mapping=[1], args=[])
    def count():
        n: int32 = 0
        while True:
            B.put(n)
            n += 1
