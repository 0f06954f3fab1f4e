"""Whole arrays against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import Int, float32, int8, int16, int32, int64, uint8

RNG = np.random.default_rng(5)
A = RNG.integers(-100, 100, (3, 4)).astype(np.int8)
B = RNG.integers(-100, 100, (4, 2)).astype(np.int8)
F = RNG.standard_normal((3, 4)).astype(np.float32)


def test_operators_keep_the_types_of_the_tables() -> None:
    def kernel(a: int8[3, 4], b: uint8[4]) -> (int32[3, 4], int32[3, 4], Int(10)[3, 4]):
        return -(a + b) * 2, a < b, ~a

    b = RNG.integers(0, 255, 4).astype(np.uint8)
    total, less, inverse = allo.interpret(kernel)(A, b)
    wide = A.astype(np.int32)
    assert (total == -(wide + b) * 2).all()
    assert (less == (wide < b)).all()
    assert (inverse == ~wide).all()


def test_products_are_of_the_first_array() -> None:
    def kernel(a: int8[3, 4], b: int8[4, 2]) -> (int32[3, 2], int32[3, 2], int32[2, 3]):
        c = allo.matmul(a, b)
        d = a @ b
        return c, d, allo.linear(b.T, a)

    c, d, e = allo.interpret(kernel)(A, B)
    wanted = (A.astype(np.int64) @ B).astype(np.int8)
    assert (c == wanted).all() and (d == wanted).all() and (e == wanted.T).all()


def test_batches_and_bias() -> None:
    def kernel(
        a: int32[2, 3, 4], b: int32[2, 4, 3], w: int32[5, 4], v: int32[5]
    ) -> (
        int32[2, 3, 3],
        int32[2, 3, 5],
    ):
        return allo.bmm(a, b), allo.linear(a, w, v)

    a, b = (RNG.integers(-9, 9, s).astype(np.int32) for s in ((2, 3, 4), (2, 4, 3)))
    w, v = (RNG.integers(-9, 9, s).astype(np.int32) for s in ((5, 4), (5,)))
    c, d = allo.interpret(kernel)(a, b, w, v)
    assert (c == a @ b).all() and (d == a @ w.T + v).all()


def test_shapes() -> None:
    def kernel(a: int8[3, 4]) -> (int8[4, 3], int8[2, 6], int8[6, 4], int8[3, 4], int16[2, 2]):
        b = allo.transpose(a, (1, 0))
        ones = allo.ones((2, 2), dtype=int16)
        return b, allo.view(a, (2, 6)), allo.concat(a, a, axis=0), allo.tril(a), ones + 1

    found = allo.interpret(kernel)(A)
    wanted = [A.T, A.reshape(2, 6), np.concatenate([A, A]), np.tril(A), np.full((2, 2), 2)]
    assert all((f == w).all() for f, w in zip(found, wanted, strict=True))


def test_views_of_expressions_and_calls() -> None:
    def negative(a: int8[3, 4]) -> int8[3, 4]:
        return -a

    def kernel(a: int8[3, 4]) -> (int8[4, 3], int8[2, 4], int8):
        return negative(a).T, (a + a)[1:3], negative(a)[2, 1]

    t, s, e = allo.interpret(kernel)(A)
    assert (t == -A.T).all() and (s == (A + A)[1:3]).all() and e == -A[2, 1]


def test_windows() -> None:
    def kernel(
        x: int32[1, 2, 4, 4], w: int32[3, 2, 2, 2], p: int32[2, 3]
    ) -> (
        int32[1, 3, 3, 3],
        int32[1, 2, 3, 2],
        int32[1, 2, 3, 2],
    ):
        return allo.conv2d(x, w), allo.sumpool(x, p), allo.maxpool(x, p)

    x = RNG.integers(-50, -1, (1, 2, 4, 4)).astype(np.int32)
    w, p = RNG.integers(-5, 5, (3, 2, 2, 2)).astype(np.int32), np.zeros((2, 3), np.int32)
    found = allo.interpret(kernel)(x, w, p)
    wanted = [allo.conv2d(x, w), allo.sumpool(x, p), allo.maxpool(x, p)]
    assert all((f == w).all() for f, w in zip(found, wanted, strict=True))


@pytest.mark.parametrize("name", ["softmax", "gelu", "relu", "exp", "tanh"])
def test_float_functions(name: str) -> None:
    def kernel(x: float32[3, 4]) -> float32[3, 4]:
        return function(x)

    function = getattr(allo, name)
    found = allo.interpret(kernel)(F)
    assert np.allclose(found, function(F.astype(np.float64)), rtol=1e-6, atol=1e-7)


def test_layer_norm() -> None:
    def kernel(x: float32[3, 4], g: float32[4], b: float32[4]) -> float32[3, 4]:
        return allo.layernorm(x, g, b)

    found = allo.interpret(kernel)(F, F[0], F[1])
    assert np.allclose(found, allo.layernorm(F.astype(np.float64), F[0], F[1]), rtol=1e-5)


def test_a_literal_has_no_element_type_to_give() -> None:
    def kernel(a: int8[3], b: int64[3]) -> (int32[3], int64[3]):
        return allo.add(1, a), allo.mul([1, 2, 3], b)

    c, d = allo.interpret(kernel)(np.array([127, 0, 1], np.int8), np.full(3, 2**40))
    assert c.tolist() == [-128, 1, 2]
    assert d.tolist() == [2**40, 2**41, 3 * 2**40]


def test_shapes_that_do_not_fit() -> None:
    def kernel(a: int8[3, 4], b: int8[3, 4]) -> int8[3, 3]:
        return a @ b

    with pytest.raises(allo.errors.ShapeMismatchError, match=r"\[3, 4\] and \[3, 4\] have no"):
        allo.interpret(kernel)


@pytest.mark.parametrize("step", [0, -1])
def test_the_step_of_a_slice_is_positive(step: int) -> None:
    def kernel(a: int8[4]) -> int8[4]:
        return a[0:4:step]

    with pytest.raises(allo.errors.UnsupportedSyntaxError, match="step of a slice is positive"):
        allo.interpret(kernel)(A[0])
