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


def product(a: int32[2, 2], b: int32[2, 2], c: int32[2, 2]):
    c[:] = allo.matmul(a, b)


def added(a: int32[4], b: int32[4]):
    a[1:4] += b[0:3]


def both_at_once(a: int32[4], b: int32[4]):
    a[:], b[1:4] = b + 1, a[0:3] + 10


def filled(a: int32[4]):
    a[:] = 9


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


def a_product_in_place(A: int32[4]):
    B: int32[2, 2] = 0
    for i, j in allo.grid(2, 2):
        B[i, j] = A[2 * i + j]
    product(B, B, B)
    for i, j in allo.grid(2, 2):
        A[2 * i + j] = B[i, j]


def added_to_itself(A: int32[4]):
    added(A, A)


def tuple_of_one_array(A: int32[4]):
    both_at_once(A, A)


def rows_filled(A: int32[4]):
    B: int32[2, 4] = 0
    for i in range(2):
        whole(B[i], A)
    filled(B[0])
    A[:] = B[0] - B[1]


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
    a_product_in_place: [7, 10, 15, 22],
    added_to_itself: [1, 3, 5, 7],
    tuple_of_one_array: [2, 11, 12, 13],
    rows_filled: [8, 7, 6, 5],
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


def test_rows_apart_and_elements_need_no_instance_of_their_own() -> None:
    def plus(a: int32[4], v: int32):
        a[:] = a + v

    def kernel(A: int32[2, 4]):
        whole(A[0], A[1])
        plus(A[0], A[0, 1])
        plus(A[1], 3)

    text = str(allo.customize(kernel).module)
    assert text.count("func.func") == 3
    assert "_new" not in text
