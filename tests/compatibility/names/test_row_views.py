"""Rows of arrays beside scalars: in tuples, calls, operators and streams."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import ShapeMismatchError
from allo.ir.types import float32, int32

TARGETS = {
    "cpu": lambda f: allo.customize(f).build(),
    "oracle": allo.interpret,
    "csim": lambda f: allo.customize(f).build("vhls"),
    "rtl": lambda f: allo.customize(f).build("verilog", simulator="jit"),
}
on_every_target = pytest.mark.parametrize("make", TARGETS.values(), ids=TARGETS)
A = np.arange(12, dtype=np.int32).reshape(3, 4)


def scaled(A: int32[3, 4], s: int32) -> int32[3, 4]:
    B: int32[3, 4]
    for i in range(3):
        row, first = A[i], A[i, 0]
        B[i] = row * s + first
    return B


def shifted(row: int32[4], by: int32) -> (int32[4], int32):
    moved: int32[4] = row + by
    total: int32 = 0
    for j in range(4):
        total += moved[j]
    return moved, total


def called(A: int32[3, 4]) -> int32[3, 4]:
    B: int32[3, 4]
    last: int32 = 0
    for i in range(3):
        B[i], total = shifted(A[i], A[i, 1] + last)
        last = total
    return B


def chosen(A: int32[3, 4], B: int32[4], s: int32) -> int32[4]:
    C: int32[4] = A[1] if s > 0 else B
    if A[2][0] > 3 and s < 10:
        C[:] = C + A[2]
    return C


@on_every_target
def test_a_row_and_a_scalar_in_one_statement(make):
    np.testing.assert_array_equal(make(scaled)(A, 3), A * 3 + A[:, :1])


@on_every_target
def test_a_row_and_a_scalar_from_one_call(make):
    expected, last = np.zeros_like(A), 0
    for i in range(3):
        expected[i] = A[i] + A[i, 1] + last
        last = expected[i].sum()
    np.testing.assert_array_equal(make(called)(A), expected)


@on_every_target
@pytest.mark.parametrize("s", [1, 0, 10])
def test_a_row_chosen_by_a_scalar(make, s):
    b = np.full(4, 100, np.int32)
    expected = (A[1] if s > 0 else b) + (A[2] if s < 10 else 0)
    np.testing.assert_array_equal(make(chosen)(A, b, s), expected)


def test_a_row_for_a_scalar_is_refused():
    def kernel(A: float32[3, 4]) -> float32:
        x: float32 = 0.0
        x += A[1]
        return x

    with pytest.raises(ShapeMismatchError) as caught:
        allo.customize(kernel)
    assert caught.value.message == "An array of shape [4] cannot be stored in one element."
