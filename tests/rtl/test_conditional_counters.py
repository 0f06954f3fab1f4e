"""A scalar that is reset in one branch and stepped in the other is read there as it was before both."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import int32

SIZE = 24


def wrapped(x: int32[SIZE], y: int32[SIZE]):
    at: int32 = 0
    for i in allo.grid(SIZE, name="i"):
        y[at] = x[i]
        if at == 4:
            at = 0
        else:
            at = at + 1


def branches(x: int32[SIZE], y: int32[SIZE]):
    at: int32 = 3
    for i in allo.grid(SIZE, name="i"):
        if x[i] > 0:
            if at > 9:
                at = x[i]
            else:
                at = at + 2
        else:
            if x[i] == -1:
                at = 7
            y[i] = at
            at = at - 1
        y[i] = y[i] + at * 3


@pytest.mark.parametrize(("device", "clock_mhz"), [("xcup", 300.0), ("ecp5", 100.0)])
def test_a_counter_that_wraps_takes_one_cycle(device: str, clock_mhz: float) -> None:
    s = allo.customize(wrapped)
    s.pipeline("i")
    assert s.estimate(device=device, clock_mhz=clock_mhz).functions[0].loops[0].ii == 1


@pytest.mark.parametrize("kernel", [wrapped, branches])
def test_values_are_those_of_the_processor(kernel) -> None:
    s = allo.customize(kernel)
    s.pipeline("i")
    x = np.random.default_rng(5).integers(-3, 4, SIZE).astype(np.int32)
    expected, found = np.zeros(SIZE, np.int32), np.zeros(SIZE, np.int32)
    allo.customize(kernel).build()(x, expected)
    s.build(target="verilog", configs={"simulator": "jit"})(x, found)
    assert expected.any()
    np.testing.assert_array_equal(found, expected)
