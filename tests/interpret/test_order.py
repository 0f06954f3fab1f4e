"""The right side of an assignment is computed once, and before its targets, on every back end."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import Struct, int32

pair = Struct({"x": int32, "y": int32})


def first_is_one(a: int32[4]) -> int32:
    a[0] = 1
    return 7


def call_on_the_right(A: int32[4]):
    A[min(A[0], 2)] = first_is_one(A)


def call_in_the_target(A: int32[4]):
    A[first_is_one(A) - 4] = A[0]


def row_from_a_call(A: int32[4]):
    B: int32[3, 2] = 0
    B[min(A[0], 2)] = first_is_one(A)
    for i in range(3):
        A[i + 1] = B[i, 0] * 10 + B[i, 1]


def call_in_the_target_of_a_row(A: int32[4]):
    B: int32[8, 4] = 0
    B[first_is_one(A)] = A
    for i in range(4):
        A[i] = B[7, i]


def fields_of_a_call(A: int32[4]):
    B: pair[3]
    for i in range(3):
        B[i] = {"x": 0, "y": 0}
    B[min(A[0], 2)] = {"x": first_is_one(A), "y": A[0]}
    for i in range(3):
        A[i + 1] = B[i]["x"] * 10 + B[i]["y"]


def expression_beside_a_call(A: int32[4]):
    B: int32[8, 4] = 0
    B[first_is_one(A)] = A + 1
    for i in range(4):
        A[i] = B[7, i]


EXPECTED = {
    call_on_the_right: [1, 7, 0, 0],
    call_in_the_target: [1, 0, 0, 9],
    row_from_a_call: [1, 0, 77, 0],
    call_in_the_target_of_a_row: [9, 0, 0, 0],
    fields_of_a_call: [1, 0, 71, 0],
    expression_beside_a_call: [10, 1, 1, 1],
}


def run(kernel, how: str, *arrays: np.ndarray) -> None:
    if how == "oracle":
        allo.interpret(kernel)(*arrays)
        return
    options = {
        "cpu": {},
        "csim": {"target": "vhls", "mode": "csim"},
        "jit": {"target": "verilog", "simulator": "jit"},
    }
    allo.customize(kernel).build(**options[how])(*arrays)


@pytest.mark.parametrize("kernel", EXPECTED, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("how", ["oracle", "cpu", "csim", "jit"])
def test_order_of_an_assignment(kernel, how: str) -> None:
    a = np.array([9, 0, 0, 0], np.int32)
    run(kernel, how, a)
    np.testing.assert_array_equal(a, EXPECTED[kernel])


def part_for_two(A: int32[4], B: int32[4]):
    A[0:3] = B[0:3] = A[1:4]


def sum_for_two(A: int32[4], B: int32[4]):
    A[:] = B[:] = A + B


def sum_for_two_names(A: int32[4], B: int32[4]):
    A = B = A + B


def names_of_one_expression(A: int32[4], B: int32[4]):
    C = D = A + 1
    C[0] = 100
    B[:] = D


def plus_one(a: int32[4]) -> int32[4]:
    b: int32[4] = a + 1
    return b


def names_of_one_result(A: int32[4], B: int32[4]):
    C = D = plus_one(A)
    C[0] = 100
    B[:] = D
    A[0] = C[0]


def expressions_crosswise(A: int32[4], B: int32[4]):
    A[:], B[:] = B + 1, A + 1


def element_and_expression(A: int32[4], B: int32[4]):
    A[0], B[:] = 5, A + 1


def element_and_array(A: int32[4], B: int32[4]):
    A[0], B[:] = 5, A


SHARED = {
    part_for_two: ([5, 7, 9, 9], [5, 7, 9, 40]),
    sum_for_two: ([13, 25, 37, 49], [13, 25, 37, 49]),
    sum_for_two_names: ([13, 25, 37, 49], [13, 25, 37, 49]),
    names_of_one_expression: ([3, 5, 7, 9], [4, 6, 8, 10]),
    names_of_one_result: ([100, 5, 7, 9], [4, 6, 8, 10]),
    expressions_crosswise: ([11, 21, 31, 41], [4, 6, 8, 10]),
    element_and_expression: ([5, 5, 7, 9], [4, 6, 8, 10]),
    element_and_array: ([5, 5, 7, 9], [3, 5, 7, 9]),
}


@pytest.mark.parametrize("kernel", SHARED, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("how", ["oracle", "cpu", "csim", "jit"])
def test_arrays_on_the_right_are_read_before_any_store(kernel, how: str) -> None:
    a, b = np.array([3, 5, 7, 9], np.int32), np.array([10, 20, 30, 40], np.int32)
    run(kernel, how, a, b)
    np.testing.assert_array_equal(a, SHARED[kernel][0])
    np.testing.assert_array_equal(b, SHARED[kernel][1])
