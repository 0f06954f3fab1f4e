"""What all elements of a stored slice share is evaluated before the first of them is stored."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import int32


def filled_row(A: int32[3, 6], B: int32[6, 6]):
    A[min(A[2, 0], 2), 0:6] = 0


def scalar_beside(A: int32[3, 6], B: int32[6, 6]):
    A[0] = B[1] + A[0, 2]


def scaled(A: int32[3, 6], B: int32[6, 6]):
    A[0] = (B[2] * A[0, 1]) + A[0, 2]


def row_by_data(A: int32[3, 6], B: int32[6, 6]):
    A[0] = B[A[0, 0]] + B[A[0, 1]]


def negative(A: int32[3, 6], B: int32[6, 6]):
    A[A[0, 0] % 3] = -A[A[0, 1] % 3]


@pytest.mark.parametrize("kernel", [filled_row, scalar_beside, scaled, row_by_data, negative])
@pytest.mark.parametrize("options", [{}, {"target": "verilog", "simulator": "jit"}])
def test_equals_numpy(kernel, options: dict[str, str]) -> None:
    rng = np.random.default_rng(4)
    module = allo.customize(kernel).build(**options)
    for _ in range(6):
        A = rng.integers(0, 6, (3, 6)).astype(np.int32)
        B = rng.integers(0, 6, (6, 6)).astype(np.int32)
        expected = A.copy()
        kernel(expected, B)
        module(A, B)
        np.testing.assert_array_equal(A, expected)
