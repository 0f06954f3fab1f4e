"""Which value a kernel's free name stands for."""

from __future__ import annotations

import numpy as np

import allo
from allo.ir.types import float32, int32

SIZE = 4


def module_level(A: float32[SIZE]) -> float32[SIZE]:
    B: float32[SIZE] = 0.0
    for i in range(SIZE):
        B[i] = A[i] + SIZE
    return B


def test_a_callers_local_does_not_hide_the_kernels_module():
    SIZE = 100  # noqa: F841
    float32 = 1.5  # noqa: F841
    A = np.ones(4, np.float32)
    assert np.array_equal(allo.customize(module_level).build()(A), np.full(4, 5, np.float32))


def test_the_enclosing_function_hides_the_module():
    SIZE = 3

    def kernel(A: int32[SIZE]) -> int32[SIZE]:
        B: int32[SIZE] = 0
        for i in range(SIZE):
            B[i] = A[i]
        return B

    assert allo.customize(kernel).build()(np.arange(3, dtype=np.int32)).tolist() == [0, 1, 2]
    SIZE = 5
    assert len(allo.customize(kernel).build()(np.arange(5, dtype=np.int32))) == 5


def test_a_name_only_the_caller_knows_is_found():
    WIDTH = 2  # noqa: F841
    assert allo.customize(wide).build()(np.zeros(2, np.int32)).tolist() == [1, 1]


def wide(A: int32[WIDTH]) -> int32[WIDTH]:
    B: int32[WIDTH] = 1
    return B
