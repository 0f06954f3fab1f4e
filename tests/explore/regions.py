"""Regions for which schedules are searched."""

import allo.dataflow as df
from allo.ir.types import Stream, int32


@df.region()
def even(A: int32[32], B: int32[32]):
    pipe: Stream[int32, 24]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[32]):
        for i in range(32):
            pipe.put(a[i] * 3)

    @df.kernel(mapping=[1], args=[B])
    def second(b: int32[32]):
        for i in range(32):
            b[i] = pipe.get() + 1


@df.region()
def chosen(A: int32[32], B: int32[32]):
    pipe: Stream[int32, 24]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[32]):
        for i in range(32):
            if a[i] > 50:
                pipe.put(a[i] * 3)
        pipe.put(-1)

    @df.kernel(mapping=[1], args=[B])
    def second(b: int32[32]):
        x: int32 = pipe.get()
        n: int32 = 0
        while x >= 0:
            b[n] = x
            n += 1
            x = pipe.get()
