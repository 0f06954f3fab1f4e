"""One array for several parameters: a store of an array reads its right side first, on every back end."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import Int, UInt, int32


def part_plus(a: UInt(9)[4], b: UInt(9)[4]):
    a[1:4] = b[0:3] + 17


def part(a: int32[4], b: int32[4]):
    a[1:4] = b[0:3]


def whole(a: int32[4], b: int32[4]):
    a[:] = b


def below(a: int32[4], b: int32[4]):
    part(b, a)


def scaled(a: int32[4], b: int32[4]):
    a[:] = a * b[1]


def same_twice(A: UInt(9)[4]):
    part_plus(A, A)


def other_signedness(A: Int(9)[4]):
    part_plus(A, A)


def through_a_function(A: int32[4]):
    below(A, A)


def rows_that_overlap(A: int32[4]):
    B: int32[2, 4] = 0
    B[0] = A
    whole(B[1], B[0])
    part(B[1], B[1])
    A[:] = B[1]


def a_scalar_of_the_target(A: int32[4]):
    scaled(A, A)


def both_ways(A: int32[4]):
    B: int32[4] = 5
    part(A, B)
    part(A, A)


START = [1, 2, 3, 4]
EXPECTED = {
    same_twice: [1, 18, 19, 20],
    other_signedness: [1, 18, 19, 20],
    through_a_function: [1, 1, 2, 3],
    rows_that_overlap: [1, 1, 2, 3],
    a_scalar_of_the_target: [2, 4, 6, 8],
    both_ways: [1, 1, 5, 5],
}


@pytest.mark.parametrize("how", ["oracle", "cpu", "csim", "jit"])
@pytest.mark.parametrize("kernel", EXPECTED, ids=lambda kernel: kernel.__name__)
def test_shared_parameters(kernel, how: str) -> None:
    options = {
        "cpu": {},
        "csim": {"target": "vhls", "mode": "csim"},
        "jit": {"target": "verilog", "simulator": "jit"},
    }
    dtype = {same_twice: np.uint16, other_signedness: np.int16}.get(kernel, np.int32)
    a = np.array(START, dtype)
    run = (
        allo.interpret(kernel) if how == "oracle" else allo.customize(kernel).build(**options[how])
    )
    run(a)
    np.testing.assert_array_equal(a, EXPECTED[kernel])
