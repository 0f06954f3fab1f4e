"""Parts that the tests of compositions put together."""

import allo.dataflow as df
from allo.ir.types import Stream, int8, int32

N = 6
SIZES = (N, 7)


def sending():
    """The first part, which multiplies by a scalar of the region."""

    @df.part()
    def part(A: int32[N], scale: int32, pipe_0: Stream[int32, 4]):
        @df.kernel(mapping=[1], args=[A])
        def send(a: int32[N]):
            for i in range(N):
                pipe_0.put(a[i] * scale)

    return part


def multiplying(factor: int):
    """A part with a stream of its own and a constant of its closure."""

    @df.part()
    def part(come: Stream[int32, 4], gone: Stream[int32, 4]):
        """Two processes."""
        inner: Stream[int32, 2]

        @df.kernel(mapping=[1])
        def multiply():
            for i in range(N):
                inner.put(come.get() * factor)

        @df.kernel(mapping=[1])
        def pass_on():
            for i in range(N):
                gone.put(inner.get())

    return part


def taking():
    """The last part."""

    @df.part()
    def part(B: int32[N], pipe: Stream[int32, 4]):
        @df.kernel(mapping=[1], args=[B])
        def take(b: int32[N]):
            for i in range(N):
                b[i] = pipe.get()

    return part


def narrow():
    """A part with a stream of another type."""

    @df.part()
    def part(pipe: Stream[int8, 4]):
        @df.kernel(mapping=[1])
        def lose():
            pipe.get()

    return part


@df.part()
def untyped(pipe):
    """A part with a parameter that has no type."""


@df.region()
def by_hand(A: int32[N], B: int32[N], scale: int32):
    pipe_0: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A])
    def send(a: int32[N]):
        for i in range(N):
            pipe_0.put(a[i] * scale)

    @df.kernel(mapping=[1], args=[B])
    def take(b: int32[N]):
        for i in range(N):
            b[i] = pipe_0.get()


def times[M, K](a: "int32[M]", b: "int32[M]"):
    """b = a * K."""
    for i in range(M):
        b[i] = a[i] * K


@df.region()
def starred(A: int32[N], B: int32[N]):
    @df.kernel(mapping=[1], args=[A, B])
    def run(a: int32[N], b: int32[N]):
        times[*SIZES](a, b)


@df.region()
def wrongly_starred(A: int32[N], B: int32[N]):
    @df.kernel(mapping=[1], args=[A, B])
    def run(a: int32[N], b: int32[N]):
        times[*N](a, b)
