"""Regions: FIFOs of exactly their depth, processes in order, and deadlocks that are named."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import ConstExpr, Stream, Struct, int32

M = 4


def send(s: Stream[int32, 7], v: int32) -> int32:
    s.put(v)
    return v * v


def send_twice(s: Stream[int32, 1], v: int32):
    s.put(v)
    s.put(-v)


def receive(s: Stream[int32, 1]) -> int32:
    got = s.get()
    return got


def test_a_pipe_with_a_scalar_of_the_region() -> None:
    @df.region()
    def top(A: int32[M], B: int32[M], n: int32):
        pipe: Stream[int32, 1]

        @df.kernel(mapping=[1], args=[A])
        def producer(a: int32[M]):
            for i in range(n):
                square = send(pipe, a[i])
                a[i] = square

        @df.kernel(mapping=[1], args=[B])
        def consumer(b: int32[M]):
            for i in range(n):
                b[i] = receive(pipe) + 1

    A, B = np.arange(M, dtype=np.int32), np.zeros(M, np.int32)
    allo.interpret(top)(A, B, 3)
    assert (A.tolist(), B.tolist()) == ([0, 1, 4, 3], [1, 2, 3, 0])


def test_a_function_that_only_puts() -> None:
    @df.region()
    def top(B: int32[M]):
        pipe: Stream[int32, 1]

        @df.kernel(mapping=[1])
        def producer():
            for i in range(2):
                send_twice(pipe, i + 1)

        @df.kernel(mapping=[1], args=[B])
        def consumer(b: int32[M]):
            for i in range(M):
                b[i] = pipe.get()

    B = np.zeros(M, np.int32)
    allo.interpret(top)(B)
    assert B.tolist() == [1, -1, 2, -2]


def test_blocks_gather_scatter_and_coordinates() -> None:
    @df.region()
    def top(A: int32[2, M], B: int32[2, M]):
        go: Stream[int32[M], 1][2]
        back: Stream[int32[M], 2][2]

        @df.kernel(mapping=[1], args=[A])
        def split(a: int32[2, M]):
            df.scatter(a, go[:])

        @df.kernel(mapping=[2])
        def work():
            i = df.get_pid()
            block = go[i].get()
            with allo.meta_if(i == 1):
                block[0] = 50
            back[1 - i].put(block)

        @df.kernel(mapping=[1], args=[B])
        def join(b: int32[2, M]):
            both = df.gather([back[0], back[1]])
            b[:, :] = both

    A = np.arange(2 * M, dtype=np.int32).reshape(2, M)
    B = np.zeros_like(A)
    allo.interpret(top)(A, B)
    assert B.tolist() == [[50, 5, 6, 7], [0, 1, 2, 3]]
    assert A.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_region_in_a_kernel() -> None:
    @df.region()
    def inner[P](x: int32[M], y: int32[M]):
        @df.kernel(mapping=[P], args=[x, y])
        def body(a: int32[M], b: int32[M]):
            p = df.get_pid()
            T: ConstExpr[int32] = M // P
            for i in range(p * T, (p + 1) * T):
                b[i] = a[i] * P + p

    @df.region()
    def outer(x: int32[M], y: int32[M], z: int32[M]):
        @df.kernel(mapping=[2], args=[x, y, z])
        def wrap(a: int32[M], b: int32[M], c: int32[M]):
            i = df.get_pid()
            with allo.meta_if(i == 0):
                inner[2](a, b)
            with allo.meta_else():
                inner[4](a, c)

    x, y, z = np.arange(M, dtype=np.int32), np.zeros(M, np.int32), np.zeros(M, np.int32)
    allo.interpret(outer)(x, y, z)
    assert (y.tolist(), z.tolist()) == ([0, 2, 5, 7], [0, 5, 10, 15])


@df.region()
def burst[D](A: int32[M], n: int32):
    data: Stream[int32, D]
    done: Stream[int32, 1]

    @df.kernel(mapping=[1])
    def first():
        for i in range(n):
            data.put(i)
        done.put(1)

    @df.kernel(mapping=[1], args=[A])
    def second(a: int32[M]):
        a[0] = done.get()
        for _ in range(n - 1):
            a[0] += data.get()


def test_depth_is_honoured_and_leftovers_are_dropped() -> None:
    A = np.zeros(M, np.int32)
    run = allo.interpret(burst, instantiate=[3])
    run(A, 3)
    assert A[0] == 1 + 0 + 1
    run(A, 2)
    assert A[0] == 1 + 0
    with pytest.raises(allo.errors.DeadlockError) as caught:
        run(A, 4)
    message = str(caught.value)
    assert "first_0 waits to put to data, which holds 3 of 3" in message
    assert "second_0 waits to get from done, which holds 0 of 1" in message
    assert f"{__file__}:" in message and "data.put(i)" in message


def test_two_consumers_are_refused() -> None:
    @df.region()
    def top(A: int32[M]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1])
        def producer():
            pipe.put(1)

        @df.kernel(mapping=[2], args=[A])
        def consumer(a: int32[M]):
            a[0] = pipe.get()

    with pytest.raises(allo.errors.DataflowError, match="second consumer: consumer_1"):
        allo.interpret(top)


def test_an_element_that_no_cast_gives_is_refused() -> None:
    pair = Struct({"x": int32, "y": int32})

    @df.region()
    def top(A: pair[M]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[A])
        def producer(a: pair[M]):
            pipe.put(a[0])

    with pytest.raises(allo.errors.TypeMismatchError, match="no cast from struct<x: i32, y: i32>"):
        allo.interpret(top)
