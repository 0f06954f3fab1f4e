"""``to`` with several consumers: each gets an array of its own from the producer's nest."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError
from allo.ir.types import int32

VALUES = np.random.default_rng(11).integers(-100, 100, (4, 6)).astype(np.int32)


def scaled(A: int32[4, 6]) -> int32[4, 6]:
    C: int32[4, 6]
    for i, j in allo.grid(4, 6):
        C[i, j] = A[i, j] * 3
    return C


def fan_out(A: int32[4, 6]) -> (int32[4, 6], int32[4, 6]):
    B: int32[4, 6]
    C: int32[4, 6]
    for i, j in allo.grid(4, 6, name="P"):
        B[i, j] = A[i, j] + 1
    for i, j in allo.grid(4, 6, name="Q"):
        C[i, j] = B[i, j] * 2
    D = scaled(B)
    return C, D


def chained(A: int32[4, 6]) -> int32[4, 6]:
    B = scaled(A)
    C: int32[4, 6]
    for i, j in allo.grid(4, 6, name="Q"):
        C[i, j] = B[i, j] * 2
    for i, j in allo.grid(4, 6, name="R"):
        C[i, j] += B[i, j]
    return C


def streamed():
    s = allo.customize(fan_out)
    s.to(s.B, "Q", depth=4)
    s.to(s.B, "scaled", depth=5)
    return s


def test_each_consumer_gets_a_fifo():
    text = str(streamed().module)
    assert '{name = "B"} : memref<4x6xi32, "stream:5">' in text
    assert '{name = "B_Q"} : memref<4x6xi32, "stream:4">' in text
    code = streamed().build(target="vhls").hls_code
    assert code.count("B.write(") == code.count("B_Q.write(") == code.count("B_Q.read()") == 1
    assert "hls::stream< int32_t >& A" in code


@pytest.mark.parametrize(
    "options",
    [{}, {"target": "vhls", "mode": "csim"}, {"target": "verilog", "simulator": "jit"}],
    ids=["cpu", "csim", "rtl"],
)
def test_the_values_stay(options):
    doubled, tripled = streamed().build(**options)(VALUES)
    np.testing.assert_array_equal(doubled, (VALUES + 1) * 2)
    np.testing.assert_array_equal(tripled, (VALUES + 1) * 3)


def test_a_call_does_not_write_for_several_consumers():
    s = allo.customize(chained)
    before = str(s.module)
    with pytest.raises(ScheduleError, match="the array has 1 writers and 2 readers at the top of"):
        s.to(s.B, "Q")
    assert str(s.module) == before
