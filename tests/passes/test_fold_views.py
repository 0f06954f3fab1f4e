"""Slices fold into subscripts and move through calls; the answers stay."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.dialects.passes.fold_views import fold_views
from allo.dialects.verify import verify
from allo.ir.types import int32


def ints(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-99, 99, shape).astype(np.int32)


def dot(a: int32[8], b: int32[8]) -> int32:
    s: int32 = 0
    for k in range(8):
        s += a[k] * b[k]
    return s


def shift(a: int32[8], b: int32[8]):
    for k in range(8):
        b[k] = a[k] + 1


def same(kernel, *args) -> str:
    """Folded and plain on the CPU: every element equal; the folded module's text."""
    plain, folded = allo.customize(kernel), allo.customize(kernel)
    fold_views(folded.module)
    text = str(folded.module)
    verify(folded.module, places=True)
    assert "subview" not in text
    first, second = [a.copy() for a in args], [a.copy() for a in args]
    plain.build()(*first)
    folded.build()(*second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    return text


def test_rows_passed_to_one_function():
    def rows(A: int32[4, 8], B: int32[8], C: int32[4]):
        for i in range(4):
            C[i] = dot(A[i], B)

    text = same(rows, ints(4, 8), ints(8), ints(4))
    assert "func.func @dot(%arg0: memref<4x8xi32>, %arg1: memref<8xi32>, %arg2: index)" in text
    assert 'arg_names = ["a", "b", "a_at0"], arg_types = ["i32", "i32", "index"]' in text


def test_one_array_sliced_twice_is_one_argument():
    def chain(A: int32[4, 8]):
        for i in range(3):
            shift(A[i], A[i + 1])

    text = same(chain, ints(4, 8))
    assert "func.func @shift(%arg0: memref<4x8xi32>, %arg1: index, %arg2: index)" in text


def test_calls_that_slice_differently_get_functions_of_their_own():
    def mixed(A: int32[4, 8], B: int32[8], T: int32[2, 3, 8], C: int32[9]):
        for i in range(4):
            C[i] = dot(A[i], B)
        C[4] = dot(B, B)
        C[5] = dot(T[1, 2], A[3])

    text = same(mixed, ints(4, 8), ints(8), ints(2, 3, 8), ints(9))
    assert text.count("func.func @dot") == 3


def test_slices_of_slices_through_two_calls():
    def plane(P: int32[3, 8], out: int32[3]):
        for i in range(3):
            out[i] = dot(P[i], P[2])

    def cube(T: int32[2, 3, 8], out: int32[2, 3]):
        for t in range(2):
            plane(T[t], out[t])

    text = same(cube, ints(2, 3, 8), ints(2, 3))
    assert "memref<2x3x8xi32>, %arg1" in text


def test_partition_folds_the_slices_of_its_array():
    def rows(A: int32[4, 8], B: int32[8], C: int32[4]):
        for i in range(4):
            C[i] = dot(A[i], B)

    s = allo.customize(rows)
    s.partition(s.A, dim=2)
    assert s.module.operation.verify()
    assert "subview" not in str(s.module) and "(0, d1, d0, 0)" in str(s.module)
    A, B, C = ints(4, 8), ints(8), ints(4)
    s.build()(A, B, C)
    np.testing.assert_array_equal(C, (A * B).sum(1))


@pytest.mark.parametrize("data_dependent", [False, True])
def test_offsets_from_memory(data_dependent):
    def pick(A: int32[4, 8], p: int32[3], C: int32[3]):
        for i in range(3):
            C[i] = dot(A[p[i]], A[i])

    def fixed(A: int32[4, 8], p: int32[3], C: int32[3]):
        for i in range(3):
            C[i] = dot(A[2], A[i + 1])

    same(pick if data_dependent else fixed, ints(4, 8), np.array([2, 0, 3], np.int32), ints(3))


def test_slices_in_verilog():
    def chain(A: int32[4, 8], C: int32[4]):
        for i in range(3):
            shift(A[i], A[i + 1])
            C[i] = dot(A[i], A[i + 1])

    s = allo.customize(chain)
    cpu, rtl = s.build(), s.build(target="verilog")
    A, C = ints(4, 8), ints(4)
    A2, C2 = A.copy(), C.copy()
    cpu(A, C)
    rtl(A2, C2)
    np.testing.assert_array_equal(A, A2)
    np.testing.assert_array_equal(C, C2)
