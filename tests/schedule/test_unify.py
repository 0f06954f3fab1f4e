"""unify: one top that runs either of two kernels."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError
from allo.ir.types import int32
from allo.primitives.unify import unify


def double(A: int32[4], B: int32[4]):
    for i in range(4):
        B[i] = B[i] + A[i] * 2


def helper(x: int32) -> int32:
    return x * x


def square(A: int32[4], B: int32[4]):
    for i in range(4):
        B[i] = B[i] - helper(A[i])


def shorter(A: int32[3], B: int32[4]):
    for i in range(3):
        B[i] = A[i]


def returning(A: int32[4], B: int32[4]) -> int32:
    return 1


def test_each_step_runs_the_selected_kernel():
    module = unify(double, square, 3)
    assert module.operation.verify()
    built = allo.LLVMModule(module, "double_square_unified")
    A, B = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    built(A, B, np.array([0, 1, 1], np.int8))
    np.testing.assert_array_equal(B, A * 2 - 2 * A * A)
    text = allo.HLSModule(module, "double_square_unified", "vivado_hls").hls_code
    assert "void double_square_unified" in text


def test_a_kernel_unified_with_itself():
    built = allo.LLVMModule(unify(square, square, 1), "square_square_unified")
    B = np.zeros(4, np.int32)
    built(np.arange(4, dtype=np.int32), B, np.array([1], np.int8))
    np.testing.assert_array_equal(B, -(np.arange(4) ** 2))


@pytest.mark.parametrize(
    ("other", "steps", "pattern"),
    [
        (shorter, 2, "unify: double and shorter take different arguments"),
        (returning, 2, "take different arguments|returns a value"),
        (square, 0, "loop_num must be a positive integer, got 0"),
    ],
)
def test_unify_refuses(other, steps, pattern):
    with pytest.raises(ScheduleError, match=pattern):
        unify(double, other, steps)
