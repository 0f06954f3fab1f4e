"""Tasks of a loop that runs as a pipeline of tasks take the iterator, also cast: equal to the oracle."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import Int, UInt, index, int32

I8, U5, I70 = Int(8), UInt(5), Int(70)


def put[T](a: int32[40], value: T, i: index):
    a[(i + 5) % 40] = value * 2


def add[T](a: int32[40], b: int32[40], value: T, i: index):
    b[(i + 5) % 40] = a[(i + 5) % 40] + value


def from_zero(A: int32[40], B: int32[40]):
    for k in range(4):
        put[int32](A, int(k), k)
        add[int32](A, B, int(k), k)


def from_below_zero(A: int32[40], B: int32[40]):
    for k in range(-3, 6, 2):
        put[int32](A, int(k), k)
        add[int32](A, B, int(k), k)


def past_a_narrow_type(A: int32[40], B: int32[40]):
    for k in range(120, 140, 3):
        put[I8](A, I8(k), k)
        add[I8](A, B, I8(k), k)


def unsigned(A: int32[40], B: int32[40]):
    for k in range(-2, 9, 2):
        put[U5](A, U5(k), k)
        add[U5](A, B, U5(k), k)


def wider_than_an_index(A: int32[40], B: int32[40]):
    for k in range(-2, 9, 2):
        put[I70](A, I70(k), k)
        add[I70](A, B, I70(k), k)


KERNELS = (from_zero, from_below_zero, past_a_narrow_type, unsigned, wider_than_an_index)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_tasks_take_the_iterator(kernel) -> None:
    """The cast of a task's argument ended in a TypeError of the compiler."""
    wanted = [np.zeros(40, np.int32), np.zeros(40, np.int32)]
    allo.interpret(kernel)(*wanted)
    assert np.count_nonzero(wanted[1])
    schedule = allo.customize(kernel)
    schedule.dataflow(schedule.get_loops(kernel.__name__)["S_k_0"]["k"])
    module = schedule.build(target="verilog", simulator="jit")
    for _ in range(2):
        got = [np.zeros(40, np.int32), np.zeros(40, np.int32)]
        module(*got)
        np.testing.assert_array_equal(got, wanted)
