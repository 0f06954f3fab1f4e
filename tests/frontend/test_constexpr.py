"""A ConstExpr has the type it was declared with: it is no literal (docs/language.md, "Literals")."""

import numpy as np
import pytest

import allo
from allo.ir.types import ConstExpr, Int, float32, float64, int32, int64, uint8


def shifted() -> int64:
    c: ConstExpr[int32] = 8
    return c << 28


def shifted_literal() -> int64:
    return 8 << 28


def negated() -> int64:
    c: ConstExpr[int32] = -2147483648
    return -c


def of_two() -> int64:
    c: ConstExpr[int32] = 2147483647
    d: ConstExpr[uint8] = 3
    return (c ^ 1) << d


def wrapped() -> int64:
    c: ConstExpr[uint8] = 300
    return c


def summed() -> int64:
    c: ConstExpr[int32] = 2147483647
    return c + 1


def a_bit() -> Int(8):
    c: ConstExpr[int32] = 1 << 18
    return c[18]


@pytest.mark.parametrize(
    "kernel, want",
    [
        (shifted, -(1 << 31)),
        (shifted_literal, 1 << 31),
        (negated, -(1 << 31)),
        (of_two, -16),
        (wrapped, 44),
        (summed, 1 << 31),
        (a_bit, 1),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_integers_wrap_in_the_declared_type(kernel, want):
    assert allo.interpret(kernel)() == want
    assert allo.customize(kernel).build()() == want


def test_floats_are_rounded_to_the_declared_type():
    def kernel(A: float64[2]):
        c: ConstExpr[float32] = 0.1
        A[0] = A[0] * c
        A[1] = A[1] * 0.1

    want = np.array([np.float64(np.float32(0.1)), 0.1])
    for run in (allo.interpret(kernel), allo.customize(kernel).build()):
        got = np.ones(2)
        run(got)
        np.testing.assert_array_equal(got, want)


def test_subscripts_with_one_stay_affine():
    def kernel(A: int32[16]) -> int32:
        c: ConstExpr[int32] = 3
        total: int32 = 0
        for i in range(c, 12 - c):
            total += A[i + c - 2] * A[c * 2]
        return total

    s = allo.customize(kernel)
    assert "affine.load %arg0[%arg1 + 1]" in str(s.module)
    A = np.arange(16, dtype=np.int32)
    assert s.build()(A) == sum(A[i + 1] * 6 for i in range(3, 9))


def test_a_single_bit_is_zero_or_one():
    Bit = Int(1)

    def element(A: int32[4]) -> int32:
        c: ConstExpr[Int(1)] = 1
        return A[c]

    def up(A: int32[4]) -> int32:
        return A[2] << Bit(1)

    def down(A: int32[4]) -> int32:
        return A[3] >> Bit(-1)

    A = np.array([5, 15, 25, 34], np.int32)
    for kernel, want in ((element, 15), (up, 50), (down, 17)):
        assert allo.interpret(kernel)(A) == want, kernel.__name__
        assert allo.customize(kernel).build()(A) == want, kernel.__name__
