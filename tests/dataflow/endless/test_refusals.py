"""Where a loop without an end is refused, and the words that say so."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import AlloError, DataflowError, DeadlockError, UnsupportedSyntaxError
from allo.ir.types import Stateful, Stream, int32

N = 4


def _refused(kind: type[AlloError], region) -> str:
    with pytest.raises(kind) as caught:
        df.customize(region)
    return str(caught.value)


def spin(a: int32[N]):
    while True:
        a[0] += 1


def around(a: int32[N]):
    spin(a)


@pytest.mark.parametrize("kernel", [spin, around])
def test_a_kernel_of_no_region_ends(kernel):
    with pytest.raises(UnsupportedSyntaxError) as caught:
        allo.customize(kernel)
    message = str(caught.value)
    assert "This loop never ends." in message and "    while True:" in message
    assert "a kernel of a region may have none, and runs until the others have ended" in message


def test_one_process_of_a_region_ends():
    @df.region()
    def ring(A: int32[N]):
        s: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[])
        def a():
            while True:
                s.put(1)

        @df.kernel(mapping=[1], args=[])
        def b():
            total: int32 = 0
            while True:
                total += s.get()

    message = _refused(DataflowError, ring)
    assert "No process of the region ring ends, so a call of it never would." in message
    assert "a loop of a_0 that never ends" in message and "a loop of b_0 that never ends" in message
    assert "help: end one of them" in message


def test_it_writes_no_array_of_the_region():
    @df.region()
    def logged(A: int32[N], B: int32[N]):
        s: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[A])
        def source(a: int32[N]):
            for i in range(N):
                s.put(a[i])

        @df.kernel(mapping=[1], args=[B])
        def log(b: int32[N]):
            i: int32 = 0
            while True:
                b[i % N] = s.get()
                i += 1

    message = _refused(DataflowError, logged)
    assert (
        "The process log_0 never ends and writes the array B: it is stopped when the others"
        in message
    )
    assert "help: put the values into a stream to a process that ends" in message


def counted(s: Stream[int32, 2]):
    n: int32 @ Stateful = 0
    while True:
        n += s.get()


def test_it_keeps_no_state():
    @df.region()
    def counting(A: int32[N]):
        s: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[A])
        def source(a: int32[N]):
            for i in range(N):
                s.put(a[i])

        @df.kernel(mapping=[1], args=[])
        def count():
            counted(s)

    message = _refused(DataflowError, counting)
    assert "The process count_0 never ends and keeps the stateful variable n" in message
    assert "a local variable declared before the loop keeps its value" in message


@df.region()
def hungry(A: int32[N], B: int32[N]):
    s: Stream[int32, 2]
    t: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])

    @df.kernel(mapping=[1], args=[])
    def worker():
        while True:
            t.put(s.get() + s.get())

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for i in range(N):
            b[i] = t.get()


@pytest.mark.parametrize(
    "options",
    [
        {"target": "simulator"},
        {"target": "vhls"},
        {"target": "verilog", "simulator": "jit"},
    ],
    ids=["simulator", "csim", "jit"],
)
def test_a_deadlock_names_it_among_the_others(options):
    module = df.build(hungry, **options)
    with pytest.raises(DeadlockError) as caught:
        module(np.ones(N, np.int32), np.zeros(N, np.int32))
    message = str(caught.value)
    assert "worker_0 waits to get from FIFO s" in message
    assert "sink_0 waits to get from FIFO t" in message
