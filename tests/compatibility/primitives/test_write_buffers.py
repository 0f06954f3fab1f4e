"""``buffer_at`` where nothing is summed, and for a single element."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError
from allo.ir.types import float32, int32
from tests.compatibility.runs import check_results, numbers
from tests.engine import engine


def affine(A: int32[6, 8]) -> int32[6, 8]:
    B: int32[6, 8]
    for i, j in allo.grid(6, 8):
        B[i, j] = A[i, j] * 3 + 1
    return B


def positive(A: int32[6, 8]) -> int32[6, 8]:
    B: int32[6, 8] = -1
    for i, j in allo.grid(6, 8):
        if A[i, j] > 0:
            B[i, j] = A[i, j]
    return B


def transposed(A: int32[6, 8]) -> int32[8, 6]:
    B: int32[8, 6] = 0
    for j, i in allo.grid(8, 6):
        B[j, 5 - i] = A[i, j]
    return B


def halves(A: int32[6, 8]) -> int32[6, 8]:
    B: int32[6, 8] = 7
    for i in range(6):
        for j in range(4):
            B[i, 2 * j] = A[i, j] - A[i, j + 4]
    return B


def planes(A: int32[3, 4, 5]) -> int32[3, 4, 5]:
    B: int32[3, 4, 5] = 0
    for i, j, k in allo.grid(3, 4, 5):
        B[i, j, k] = A[i, j, k] + i
    return B


def products(A: int32[4, 6], W: int32[6, 5]) -> int32[4, 5]:
    C: int32[4, 5] = 0
    for i, j in allo.grid(4, 5):
        for k in range(6):
            C[i, j] += A[i, k] * W[k, j]
    return C


def test_a_row_is_collected_before_it_is_written():
    s = allo.customize(affine)
    row = s.buffer_at(s.B, "i")
    assert str(row) == "MockBuffer(affine:B_row)"
    assert [n for n, _ in s.get_loops()["S_i_j_0"]] == ["i", "j", "j_back"]
    assert 'memref.alloc() {name = "B_row"} : memref<8xi32>' in str(s.module)
    A = numbers(6, 8)
    check_results(s, [A], A * 3 + 1)


def test_elements_that_are_not_written_keep_their_value():
    s = allo.customize(positive)
    s.buffer_at(s.B, "i")
    assert [n for n, _ in s.get_loops()["S_i_j_0"]] == ["i", "j_init", "j", "j_back"]
    A = numbers(6, 8)
    check_results(s, [A], np.where(A > 0, A, -1))
    t = allo.customize(halves)
    t.buffer_at(t.B, "i")
    want = np.full((6, 8), 7)
    want[:, ::2] = A[:, :4] - A[:, 4:]
    check_results(t, [A], want)


def test_rows_in_another_order_and_planes():
    s = allo.customize(transposed)
    s.buffer_at(s.B, "j")
    A = numbers(6, 8)
    check_results(s, [A], A.T[:, ::-1])
    for axis, extent in (("i", "4x5"), ("j", "5")):
        t = allo.customize(planes)
        t.buffer_at(t.B, axis)
        assert f'{{name = "B_row"}} : memref<{extent}xi32>' in str(t.module)
        A3 = numbers(3, 4, 5)
        check_results(t, [A3], A3 + np.arange(3)[:, None, None])


def test_a_buffer_of_one_element():
    s = allo.customize(products)
    s.buffer_at(s.C, "j")
    assert 'memref.alloc() {name = "C_row"} : memref<i32>' in str(s.module)
    A, W = numbers(4, 6), numbers(6, 5)
    check_results(s, [A, W], A @ W)


def test_a_buffer_of_one_element_of_an_argument():
    def sums(A: float32[4, 6], B: float32[4]):
        for i in range(4):
            for k in range(6):
                B[i] += A[i, k]

    s = allo.customize(sums)
    s.buffer_at(s.B, "i")
    A, start = numbers(4, 6).astype(np.float32), np.arange(4, dtype=np.float32)
    for target in ("llvm", "vhls", "verilog"):
        B = start.copy()
        s.build(target=target, **engine(target))(A, B)
        np.testing.assert_array_equal(B, A.sum(1) + start)


@pytest.mark.parametrize(
    ("kernel", "array", "axis", "pattern"),
    [
        (affine, "B", "j", "cannot buffer B at loop j: it is the innermost loop"),
        (products, "C", "k", "cannot buffer C at loop k: it is the innermost loop"),
        (positive, "A", "i", "nothing is stored to the array inside it"),
        (transposed, "B", "k", "No such loop 'k'"),
    ],
)
def test_what_no_buffer_helps_is_refused(kernel, array, axis, pattern):
    s = allo.customize(kernel)
    before = str(s.module)
    with pytest.raises((ScheduleError, AttributeError), match=pattern):
        s.buffer_at(getattr(s, array), axis)
    assert str(s.module) == before
