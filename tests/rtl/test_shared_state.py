"""Stateful variables of functions with several calls: one state a function, in hardware as on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import DataflowError
from allo.ir.types import Fixed, Stateful, Stream, UInt, int32


def count(x: int32) -> int32:
    q: int32 @ Stateful = 0
    q += 1
    return q + x


def counted(x: int32) -> int32:
    return count(x) + 100


def history(A: int32[4]) -> int32:
    h: int32[4] @ Stateful = 1
    s: int32 = 0
    for i in range(4):
        h[i] += A[i]
        s += h[i]
    return s


def history_of(A: int32[4]) -> int32:
    return history(A) + 1


def thirds(x: int32) -> int32:
    f: Fixed(16, 4) @ Stateful = 0.25
    w: UInt(70) @ Stateful = 1
    f += 0.75
    w = w * 3 + x
    return int(f * 4) + w[60:70]


def called_by_two(A: int32[6]):
    A[0] = counted(1)
    A[1] = count(0)
    A[2] = counted(2)


def result_not_used(A: int32[6]):
    v: int32 = counted(1)  # noqa: F841
    A[1] = count(0)


def in_a_pipeline_and_behind_it(A: int32[6]):
    for i in range(6):
        A[i] = count(A[i])
    A[0] += count(0)


def two_deep_in_a_pipeline(A: int32[6]):
    for i in range(6):
        A[i] = counted(A[i])
    A[0] += count(0) + counted(0)


def arrays_kept(A: int32[6]):
    A[0] += history(A[0:4])
    A[1] = history_of(A[2:6])
    A[2] = history(A[1:5])


def moved(a: int32[4], b: int32[4]) -> int32:
    n: int32 @ Stateful = 0
    m: int32[2] @ Stateful = 3
    n += 1
    m[n % 2] += n
    a[1:4] = b[0:3]
    return n + 10 * m[0] + 1000 * m[1]


def one_array_or_two(A: int32[6]):
    B: int32[4] = 2
    A[0] = moved(A[0:4], B)
    A[4] = moved(B, B)
    A[5] = moved(A[1:5], A[2:6])


def wide_and_fixed(A: int32[6]):
    def below(x: int32) -> int32:
        return thirds(x)

    for i in range(6):
        A[i] = thirds(A[i])
    A[5] += below(A[4]) + thirds(A[3])


KERNELS = [
    called_by_two,
    result_not_used,
    in_a_pipeline_and_behind_it,
    two_deep_in_a_pipeline,
    arrays_kept,
    one_array_or_two,
    wide_and_fixed,
]


@pytest.mark.parametrize("pipelined", [False, True], ids=["plain", "pipelined"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_one_state_a_function(kernel: Callable[..., None], pipelined: bool) -> None:
    s = allo.customize(kernel)
    if pipelined:
        for _, band in s.get_loops():
            s.pipeline(list(band)[-1][1])
    meaning = allo.interpret(kernel)
    builds = [
        s.build(),
        s.build(target="verilog", simulator="jit"),
        s.build(target="verilog"),
        s.build(target="vhls", mode="csim"),
    ]
    rng = np.random.default_rng(7)
    for _ in range(3):
        given = rng.integers(-50, 50, 6).astype(np.int32)
        expected = given.copy()
        meaning(expected)
        for build in builds:
            got = given.copy()
            build(got)
            np.testing.assert_array_equal(got, expected)


def _two_processes(first, second):
    @df.region()
    def top(A: int32[4], B: int32[4]):
        pipe: Stream[int32, 4]

        @df.kernel(mapping=[1], args=[A])
        def producer(X: int32[4]):
            for i in range(4):
                pipe.put(first(X[i]))

        @df.kernel(mapping=[1], args=[B])
        def consumer(Y: int32[4]):
            for i in range(4):
                Y[i] = second(pipe.get())

    return top


def test_two_processes_cannot_share_a_state() -> None:
    with pytest.raises(DataflowError) as caught:
        df.build(_two_processes(count, counted), target="simulator")
    message = str(caught.value)
    assert "producer_0 and consumer_0 run at once, and both call count" in message
    assert "the stateful variable q" in message
    assert 'count["name"](...)' in message


def test_each_process_has_an_instance() -> None:
    @df.region()
    def top(A: int32[4], B: int32[4]):
        pipe: Stream[int32, 4]

        @df.kernel(mapping=[1], args=[A])
        def producer(X: int32[4]):
            for i in range(4):
                pipe.put(count["first"](X[i]))

        @df.kernel(mapping=[1], args=[B])
        def consumer(Y: int32[4]):
            for i in range(4):
                Y[i] = count["second"](pipe.get())

    a = np.array([5, -3, 20, 8], np.int32)
    for options in (
        {"target": "simulator"},
        {"target": "verilog", "simulator": "jit"},
        {"target": "vhls", "mode": "csim"},
    ):
        module, b = df.build(top, **options), np.zeros(4, np.int32)
        module(a.copy(), b)
        np.testing.assert_array_equal(b, a + 2 * np.arange(1, 5))
