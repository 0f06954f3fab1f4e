"""Schedules of whole kernels, from Python: triangles, stencils, chains; equal to the unscheduled build."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
from allo.dialects.verify import verify
from allo.errors import ScheduleError
from allo.ir.types import float32, int32
from tests.schedule.support import text


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def same_bits(plain, scheduled, *args) -> None:
    """The scheduled module is legal; both builds on the CPU, every argument and result bit for bit."""
    verify(scheduled.module, top=scheduled.top_func_name, places=True)
    first, second = [a.copy() for a in args], [a.copy() for a in args]
    expected, got = plain.build()(*first), scheduled.build()(*second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(expected, got)


def trmm(A: float32[8, 8], B: float32[8, 10]):
    for i in range(8):
        for j in range(10):
            for k in range(i + 1, 8):
                B[i, j] += A[k, i] * B[k, j]


def test_a_triangle_buffers_the_row_it_sums():
    s = allo.customize(trmm)
    s.reorder("k", "j")
    s.buffer_at(s.B, "i")
    text = str(s.module)
    assert text.count('from = "B_row"') == 2 and text.count('from = "B"') == 2
    s.pipeline("j")
    same_bits(allo.customize(trmm), s, floats(8, 8), floats(8, 10))


def test_the_rows_of_a_triangle_change_places_and_the_groups_of_one_are_added_as_trees():
    s = allo.customize(trmm)
    s.reorder("k", "i", "j")
    assert re.search(r"affine.for %(\w+) = 1 to 8 \{\s*affine.for %\w+ = 0 to #map\(%\1\)", text(s))
    same_bits(allo.customize(trmm), s, floats(8, 8), floats(8, 10))
    s.split("k", 3)
    s.reorder("k.outer", "i", "j", "k.inner")
    s.pipeline("j")
    s.rebalance("k.inner")
    assert text(s).count("arith.addf") == 3, "a tree of three terms, and one addition to B"
    A, B = floats(8, 8), floats(8, 10)
    expected = B + np.tril(A, -1).T @ B
    s.build()(A, B)
    np.testing.assert_allclose(B, expected, rtol=1e-5, atol=1e-5)


def sums_below(A: float32[8], B: float32[8]):
    for i in range(8):
        for k in range(i):
            A[i] += B[k]


@pytest.mark.parametrize("options", [{}, {"target": "verilog", "simulator": "jit"}])
def test_a_tree_of_a_loop_that_may_not_run_leaves_its_element(options: dict[str, str]):
    s = allo.customize(sums_below)
    s.pipeline("i")
    s.rebalance("k")
    A, B = np.random.default_rng(1).random((2, 8), np.float32)
    expected = A + np.concatenate([[0], np.cumsum(B)[:-1]])
    # not a bit of the first element is touched: an addition would make its NaN another one
    A.view(np.uint32)[0] = 0xFFF00001
    s.build(**options)(A, B)
    assert A.view(np.uint32)[0] == 0xFFF00001
    np.testing.assert_allclose(A[1:], expected[1:], rtol=1e-5)


def trmm_by_offset(A: float32[8, 8], B: float32[8, 10]):
    for i in range(8):
        for j in range(10):
            for k in allo.reduction(7 - i):
                B[i, j] += A[i + 1 + k, i] * B[i + 1 + k, j]


def test_rows_below_the_one_that_is_summed_are_read_from_the_array():
    s = allo.customize(trmm_by_offset)
    s.reorder("k", "j")
    s.buffer_at(s.B, "i")
    text = str(s.module)
    assert 'name = "B_row"} : memref<10xf32>' in text
    assert text.count('from = "B_row"') == 2 and text.count('from = "B"') == 2
    s.pipeline("j")
    same_bits(allo.customize(trmm_by_offset), s, floats(8, 8), floats(8, 10))


def prefix(A: int32[6, 8]):
    for i in range(6):
        for k in range(3):
            for j in range(7):
                A[i, j] += A[i, j + 1]


def test_accesses_at_an_offset_share_the_buffer():
    s = allo.customize(prefix)
    s.buffer_at(s.A, "i")
    assert "memref<8xi32>" in str(s.module)
    same_bits(allo.customize(prefix), s, np.arange(48, dtype=np.int32).reshape(6, 8))


def mixed(A: int32[6, 6]):
    for i in range(6):
        for k in range(3):
            for j in range(6):
                A[i, j] += A[k, j]


def test_an_access_that_may_meet_the_buffer_is_refused():
    s = allo.customize(mixed)
    with pytest.raises(ScheduleError, match="may touch an element of the buffer by another"):
        s.buffer_at(s.A, "i")


def star(A: float32[12, 12], B: float32[12, 12]):
    for y, x in allo.grid(10, 10, name="star"):
        B[y + 1, x + 1] = 0.2 * (
            A[y + 1, x + 1] + A[y + 1, x] + A[y + 1, x + 2] + A[y + 2, x + 1] + A[y, x + 1]
        )


def steps(A: float32[12, 12], B: float32[12, 12]):
    for _ in range(3):
        star(A, B)
        star(B, A)


def test_a_star_stencil_through_line_and_window_buffer():
    inner = allo.customize(star)
    line = inner.reuse_at(inner.A, "y")
    window = inner.reuse_at(line, "x")
    inner.partition(line, dim=1)
    inner.partition(window)
    inner.pipeline("x")
    s = allo.customize(steps)
    s.compose(inner)
    assert str(s.module).count("memref<3x12xf32") > 0 and "memref<3x3xf32" in str(s.module)
    same_bits(allo.customize(steps), s, floats(12, 12), floats(12, 12))


def mm[M: int32, N: int32, K: int32](A: float32[M, K], B: float32[K, N]) -> float32[M, N]:
    C: float32[M, N] = 0.0
    for i, j, k in allo.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


def chain(A: float32[8, 6], B: float32[6, 4], D: float32[4, 5]) -> float32[8, 5]:
    X = mm[8, 4, 6, "a"](A, B)
    return mm[8, 5, 4, "b"](X, D)


def test_two_instances_take_two_schedules():
    first = allo.customize(mm, instantiate=[8, 4, 6])
    first.reorder("k", "j")
    first.buffer_at(first.C, "i")
    first.pipeline("j")
    second = allo.customize(mm, instantiate=[8, 5, 4])
    second.split("j", 3)
    second.pipeline("j.inner")
    s = allo.customize(chain)
    s.compose(first, id="a")
    s.compose(second, id="b")
    assert str(s.module).count("pipeline_ii") == 4
    same_bits(allo.customize(chain), s, floats(8, 6), floats(6, 4), floats(4, 5))
    with pytest.raises(ScheduleError, match=r"compose: the schedule is of mm\(f32\[8x6\]"):
        s.compose(first, id="b")


def test_errors_show_the_user_line():
    s = allo.customize(trmm)
    with pytest.raises(ScheduleError, match="split k: its bounds depend on other values") as caught:
        s.split("k", 2)
    message = str(caught.value)
    assert "test_kernels.py" in message and "for k in range(i + 1, 8):" in message


def mm1(A: float32[4, 6], B: float32[6, 5], out_AB: float32[4, 5]):
    for i0, j0 in allo.grid(4, 5, name="mm1"):
        for k0 in allo.reduction(6):
            out_AB[i0, j0] += A[i0, k0] * B[k0, j0]


def mm2(out_AB: float32[4, 5], C: float32[5, 7], out: float32[4, 7]):
    for i1, j1 in allo.grid(4, 7, name="mm2"):
        for k1 in allo.reduction(5):
            out[i1, j1] += out_AB[i1, k1] * C[k1, j1]


def two_mm(A: float32[4, 6], B: float32[6, 5], C: float32[5, 7]) -> float32[4, 7]:
    out_AB: float32[4, 5] = 0
    out: float32[4, 7] = 0
    mm1(A, B, out_AB)
    mm2(out_AB, C, out)
    return out


def scheduled_two_mm():
    first = allo.customize(mm1)
    first.reorder("k0", "j0")
    first.buffer_at(first.out_AB, "i0")
    first.pipeline("j0")
    second = allo.customize(mm2)
    second.reorder("k1", "j1")
    second.buffer_at(second.out, "i1")
    second.pipeline("j1")
    s = allo.customize(two_mm)
    s.compose([first, second])
    return s


def test_a_product_streams_into_the_next():
    s = scheduled_two_mm()
    s.to(s.out_AB, "mm2", depth=5)
    text = str(s.module)
    assert 'memref<4x5xf32, "stream:5">' in text and text.count("linalg.fill") == 1
    assert 'affine.load %arg2[%arg3, %arg4] {from = "out_AB"}' not in text
    same_bits(allo.customize(two_mm), s, floats(4, 6), floats(6, 5), floats(5, 7))


def test_a_stream_needs_the_producer_to_accumulate_elsewhere():
    s = allo.customize(two_mm)
    with pytest.raises(ScheduleError, match="has 2 writers and 2 readers"):
        s.to(s.out_AB, "mm2")
    assert "linalg.fill" in str(s.module) and "stream" not in str(s.module)


def twice(A: float32[4, 6], B: float32[6, 5], C: float32[4, 5], D: float32[4, 5]):
    X: float32[4, 5] = 0
    mm1(A, B, X)
    mm1(A, B, C)
    for i, j in allo.grid(4, 5, name="last"):
        D[i, j] = X[i, j]


def test_a_function_called_twice_cannot_have_one_fifo():
    s = allo.customize(twice)
    with pytest.raises(ScheduleError, match="function mm1 is called more than once"):
        s.to(s.X, "last")


def numbered(A: int32[4, 8], place: int32[8]):
    for i in range(1, 4):
        for j in range(8):
            A[i, place[j]] += A[i - 1, j] * i + j
            for k in range(j, 8):
                A[i, k] += j * k


def test_fused_iterators_keep_their_values():
    """Iterators in arithmetic, in bounds and beside run-time subscripts, outer and inner alike."""
    rng = np.random.default_rng(4)
    start, place = (
        rng.integers(-99, 99, (4, 8)).astype(np.int32),
        rng.permutation(8).astype(np.int32),
    )
    s = allo.customize(numbered)
    s.fuse("i", "j")
    found, expected = start.copy(), start.copy()
    s.build()(found, place)
    numbered(expected, place)
    np.testing.assert_array_equal(found, expected)
