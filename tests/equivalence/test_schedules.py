"""Schedules of one kernel are equivalent to it; wrong kernels are not, and the first fault is named."""

from __future__ import annotations

import inspect

import pytest

import allo
from allo.equivalence import compare
from allo.ir.types import Fixed, float32, int8, int16, int32

M, N, K = 6, 8, 10


def gemm(A: int32[M, K], B: int32[K, N]) -> int32[M, N]:
    C: int32[M, N] = 0
    for i, j, k in allo.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


def gemm_float(A: float32[M, K], B: float32[K, N]) -> float32[M, N]:
    C: float32[M, N] = 0
    for i, j in allo.grid(M, N):
        for k in allo.reduction(K):
            C[i, j] += A[i, k] * B[k, j]
    return C


def blur(A: int32[10, 10]) -> int32[8, 8]:
    B: int32[8, 8] = 0
    for y, x in allo.grid(8, 8):
        B[y, x] = A[y, x] + A[y + 1, x] + A[y + 2, x]
    return B


def two_stage(A: int32[10, 10], D: int32[10, 10]):
    B: int32[10, 10] = 0
    for y, x in allo.grid(10, 10, name="B"):
        B[y, x] = A[y, x] + 1
    for y, x in allo.grid(10, 10, name="D"):
        D[y, x] = B[y, x] * 2


def add_one(A: int32[N]) -> int32[N]:
    B: int32[N] = 0
    for i in range(N):
        B[i] = A[i] + 1
    return B


def caller(A: int32[N]) -> int32[N]:
    B = add_one(A)
    C: int32[N] = 0
    for i in range(N):
        C[i] = B[i] * 2
    return C


def reordered(s):
    s.reorder("k", "j", "i")


def tiled(s):
    s.split("i", 2)
    s.split("j", 3)
    s.reorder("i.outer", "j.outer", "k", "i.inner", "j.inner")


def unrolled(s):
    s.unroll("j", factor=4)
    s.pipeline("k")


def fused(s):
    s.fuse("i", "j")


def partitioned(s):
    s.partition(s.A, dim=2, factor=2)
    s.partition(s.B)


def buffered(s):
    s.reorder("k", "j")
    s.buffer_at(s.C, axis="i")


def reduction_split(s):
    s.split("k", 5)
    s.reorder("k.inner", "k.outer", "i", "j")


@pytest.mark.parametrize(
    "change", [reordered, tiled, unrolled, fused, partitioned, buffered, reduction_split]
)
def test_schedules_of_an_integer_product_are_equivalent(change):
    s = allo.customize(gemm)
    change(s)
    assert str(s.module) != str(allo.customize(gemm).module)
    assert allo.verify(allo.customize(gemm), s) is True


@pytest.mark.parametrize("change", [reordered, tiled, fused, partitioned, buffered])
def test_a_float_product_whose_sums_keep_their_order_is_the_same_to_the_bit(change):
    s = allo.customize(gemm_float)
    change(s)
    assert allo.verify(allo.customize(gemm_float), s) is True


def test_a_float_sum_in_another_order_differs_unless_reassociation_is_allowed(capsys):
    plain, s = allo.customize(gemm_float), allo.customize(gemm_float)
    reduction_split(s)
    assert allo.verify(plain, s) is False
    shown = capsys.readouterr().out
    assert "48 of 188 values differ, the first is C[0, 0]" in shown
    assert "help: they are equal if float sums may be taken in any order" in shown
    assert allo.verify(plain, s, reassociate=True) is True
    assert compare(plain, s).reassociated


def test_reuse_at_is_equivalent():
    s = allo.customize(blur)
    s.reuse_at(s.A, "y")
    assert "for" in str(s.module) and allo.verify(allo.customize(blur), s)


def test_compute_at_is_equivalent():
    s = allo.customize(two_stage)
    loops = s.get_loops()
    s.compute_at(loops["B"]["x"], loops["D"]["x"])
    assert allo.verify(allo.customize(two_stage), s)


def test_compose_is_equivalent():
    inner = allo.customize(add_one)
    inner.split("i", 4)
    inner.unroll("i.inner")
    s = allo.customize(caller)
    s.compose(inner)
    assert allo.verify(allo.customize(caller), s)


def test_reshape_is_equivalent():
    s = allo.customize(add_one)
    s.reshape(s.A, (2, 4))
    assert allo.verify(allo.customize(add_one), s)


# --- wrong programs --------------------------------------------------------------------


def short_bound(A: int32[M, K], B: int32[K, N]) -> int32[M, N]:
    C: int32[M, N] = 0
    for i, j, k in allo.grid(M, N, K - 1):
        C[i, j] += A[i, k] * B[k, j]
    return C


def wrong_index(A: int32[M, K], B: int32[K, N]) -> int32[M, N]:
    C: int32[M, N] = 0
    for i, j, k in allo.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, (j + 1) % 8]
    return C


def wrong_start(A: int32[M, K], B: int32[K, N]) -> int32[M, N]:
    C: int32[M, N] = 1
    for i, j, k in allo.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


def last_only(A: int32[M, K], B: int32[K, N]) -> int32[M, N]:
    C: int32[M, N] = 0
    for i, j, k in allo.grid(M, N, K):
        C[i, j] = A[i, k] * B[k, j]
    return C


@pytest.mark.parametrize("wrong", [short_bound, wrong_index, wrong_start, last_only])
def test_a_wrong_kernel_is_told_apart_with_a_diff(wrong, capsys):
    outcome = compare(allo.customize(gemm), allo.customize(wrong))
    assert not outcome and not outcome.reassociated
    assert outcome.message.startswith(
        f"gemm and {wrong.__name__} are not equivalent: 48 of 188 values differ, "
        "the first is C[0, 0]:"
    )
    assert outcome.place is not None and outcome.place.file == __file__
    assert outcome.diff.startswith("--- first\n+++ second\n@@")
    assert allo.verify(allo.customize(gemm), allo.customize(wrong)) is False
    assert "+void " + wrong.__name__ in capsys.readouterr().out


def minus(A: int32[4], B: int32[4]) -> int32[4]:
    C: int32[4] = 0
    for i in range(4):
        C[i] = A[i] - B[i]
    return C


def minus_swapped(A: int32[4], B: int32[4]) -> int32[4]:
    C: int32[4] = 0
    for i in range(4):
        C[i] = B[i] - A[i]
    return C


def minus_written_otherwise(A: int32[4], B: int32[4]) -> int32[4]:
    C: int32[4] = 0
    for i in range(4):
        C[3 - i] = -1 * B[3 - i] + A[3 - i]
    return C


def test_operands_of_a_difference_matter_and_its_spelling_does_not():
    plain = allo.customize(minus)
    outcome = compare(plain, allo.customize(minus_swapped))
    assert "(A[0] - B[0])" in outcome.message and "(B[0] - A[0])" in outcome.message
    assert outcome.differing == 4
    assert allo.verify(plain, allo.customize(minus_written_otherwise))


def squares(A: int32[9]) -> int32[4]:
    C: int32[4] = 0
    for i in range(3):
        C[i] = A[i * i]
    return C


def past_the_end(A: int32[9]) -> int32[4]:
    C: int32[4] = 0
    for i in range(4):
        C[i] = A[i * i + i]
    return C


def test_a_read_outside_an_array_is_a_difference_with_its_place():
    plain, wrong = allo.customize(squares), allo.customize(past_the_end)
    outcome = compare(plain, wrong)
    assert "in the second, A[12] is outside A." in outcome.message
    assert outcome.place is not None and outcome.place.line == source_line(past_the_end, "A[i * i")
    assert not allo.verify(wrong, wrong) and allo.verify(plain, plain)


def source_line(function, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


def in_place(A: int32[4], B: int32[4]):
    for i in range(4):
        A[i] = A[i] + B[i]


def in_place_and_more(A: int32[4], B: int32[4]):
    for i in range(4):
        A[i] = A[i] + B[i]
    B[2] = 0


def test_every_argument_is_live_out():
    outcome = compare(allo.customize(in_place), allo.customize(in_place_and_more))
    assert outcome.differing == 1 and "the first is B[2]" in outcome.message
    assert "first:  B[2]\n" in outcome.message and "second: 0 " in outcome.message


def narrow(A: int8[4], B: int8[4]) -> int16[4]:
    C: int16[4] = 0
    for i in range(4):
        C[i] = A[i] * B[i] + A[i]
    return C


def narrow_wraps(A: int8[4], B: int8[4]) -> int16[4]:
    C: int16[4] = 0
    for i in range(4):
        low: int8 = A[i] * B[i] + A[i]
        C[i] = low
    return C


def test_a_width_that_loses_bits_is_a_difference():
    assert compare(allo.customize(narrow), allo.customize(narrow_wraps)).differing == 4


def scaled(A: Fixed(16, 8)[4], B: Fixed(16, 8)[4]) -> Fixed(16, 8)[4]:
    C: Fixed(16, 8)[4] = 0
    for i in range(4):
        C[i] = A[i] * B[i] + A[i]
    return C


def scaled_less(A: Fixed(16, 8)[4], B: Fixed(16, 8)[4]) -> Fixed(16, 8)[4]:
    C: Fixed(16, 8)[4] = 0
    for i in range(4):
        C[i] = A[i] * B[i] - A[i]
    return C


def test_fixed_point_is_followed():
    s = allo.customize(scaled)
    s.split("i", 2)
    s.unroll("i.inner")
    assert allo.verify(allo.customize(scaled), s)
    assert compare(s, allo.customize(scaled_less)).differing == 4


def ramp(A: float32[4]) -> float32[4]:
    B: float32[4] = 0
    for i in range(4):
        step: int8 = i - 2
        weight: float32 = step
        B[i] = A[i] * weight
    return B


def ramp_by_constants(A: float32[4]) -> float32[4]:
    B: float32[4] = 0
    B[0] = A[0] * -2.0
    B[1] = A[1] * -1.0
    B[2] = A[2] * 0.0
    B[3] = A[3] * 1.0
    return B


def test_a_known_negative_integer_becomes_its_float():
    assert allo.verify(allo.customize(ramp), allo.customize(ramp_by_constants))


def bounded_sum(A: int32[20], n: int32) -> int32:
    t: int32 = 5
    for i in range(20):
        if i < n:
            t += A[i]
    return t


def sum_of_all(A: int32[20], n: int32) -> int32:
    t: int32 = 5
    for i in range(20):
        t += A[i]
    return t


def sum_of_one_more(A: int32[20], n: int32) -> int32:
    t: int32 = 5
    for i in range(20):
        if i <= n:
            t += A[i]
    return t


def test_a_sum_under_a_condition_may_be_interleaved() -> None:
    s = allo.customize(bounded_sum)
    s.interleave("i", 3)
    assert allo.verify(allo.customize(bounded_sum), s)


@pytest.mark.parametrize("other", [sum_of_all, sum_of_one_more])
def test_a_sum_under_another_condition_is_another(other) -> None:
    assert not allo.verify(allo.customize(bounded_sum), allo.customize(other))
