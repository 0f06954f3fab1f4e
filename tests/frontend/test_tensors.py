"""allo's functions on whole arrays, and operators, against NumPy."""

import numpy as np
import pytest

import allo
from allo import concat, linear
from allo.errors import CompileTimeError, ShapeMismatchError, TypeMismatchError
from allo.frontend import build_module
from allo.ir.types import float32, int8, int32

RNG = np.random.default_rng(3)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*shape):
    return RNG.integers(-100, 100, shape).astype(np.int32)


def add_bias(A: float32[2, 3], B: float32[3]) -> float32[2, 3]:
    return allo.add(A, B)


def operators(A: float32[2, 3], B: float32[3]) -> float32[2, 3]:
    C = (A - B) * 2.0 + A / 3.0
    return -C


def difference(A: int32[4], B: int32[4]) -> int32[4]:
    return allo.sub(allo.mul(A, B), A)


def product(A: float32[4, 5], B: float32[5, 6]) -> float32[4, 6]:
    return allo.matmul(A, B, name="product")


def at_product(A: float32[4, 5], B: float32[5, 6]) -> float32[4, 6]:
    return (A + 1.0) @ B


def batched(A: float32[2, 4, 5], B: float32[2, 5, 3]) -> float32[2, 4, 3]:
    return allo.bmm(A, B)


def broadcast_batch(A: float32[3, 1, 4, 5], B: float32[2, 5, 3]) -> float32[3, 2, 4, 3]:
    return allo.matmul(A, B)


def dense(X: float32[4, 5], W: float32[3, 5], b: float32[3]) -> float32[4, 3]:
    return linear(X, W, b)


def rows(X: float32[3, 7]) -> float32[3, 7]:
    return allo.softmax(X)


def batched_rows(X: float32[2, 3, 4]) -> float32[2, 3, 4]:
    Y: float32[2, 3, 4] = allo.softmax(X * 2.0)
    return Y


def normalised(X: float32[3, 8], g: float32[8], b: float32[8]) -> float32[3, 8]:
    return allo.layernorm(X, g, b)


def activated(X: float32[3, 8]) -> float32[3, 8]:
    return allo.gelu(X)


def rectified(X: int32[3, 8]) -> int32[3, 8]:
    return allo.relu(X)


def convolved(X: float32[2, 3, 6, 7], W: float32[4, 3, 2, 3]) -> float32[2, 4, 5, 5]:
    return allo.conv2d(X, W)


def pooled(X: int32[1, 2, 5, 5], window: int32[2, 3]) -> int32[1, 2, 4, 3]:
    return allo.maxpool(X, window)


def summed(X: int32[1, 2, 5, 5], window: int32[2, 3]) -> int32[1, 2, 4, 3]:
    return allo.sumpool(X, window)


def turned(X: int32[2, 3, 4]) -> int32[4, 2, 3]:
    return allo.transpose(X, (2, 0, 1))


def reshaped(X: int32[4, 6]) -> int32[3, 8]:
    return allo.view(X, (3, 8))


def joined(X: int32[2, 3], Y: int32[2, 4]) -> int32[2, 7]:
    return concat(X, Y, axis=1)


def triangle(X: float32[4, 4]) -> float32[4, 4]:
    return allo.tril(X)


def copied(X: int32[4]) -> int32[4]:
    Y = allo.copy(X)
    X[0] = 7
    return Y


def exponential(X: float32[5]) -> float32[5]:
    return allo.exp(X) + allo.log(allo.abs(X))


CASES = [
    (add_bias, [floats(2, 3), floats(3)]),
    (operators, [floats(2, 3), floats(3)]),
    (difference, [ints(4), ints(4)]),
    (product, [floats(4, 5), floats(5, 6)]),
    (at_product, [floats(4, 5), floats(5, 6)]),
    (batched, [floats(2, 4, 5), floats(2, 5, 3)]),
    (broadcast_batch, [floats(3, 1, 4, 5), floats(2, 5, 3)]),
    (dense, [floats(4, 5), floats(3, 5), floats(3)]),
    (rows, [floats(3, 7) * 4]),
    (batched_rows, [floats(2, 3, 4)]),
    (normalised, [floats(3, 8), floats(8), floats(8)]),
    (activated, [floats(3, 8)]),
    (rectified, [ints(3, 8)]),
    (convolved, [floats(2, 3, 6, 7), floats(4, 3, 2, 3)]),
    (pooled, [ints(1, 2, 5, 5) - 200, np.zeros((2, 3), np.int32)]),
    (summed, [ints(1, 2, 5, 5), np.zeros((2, 3), np.int32)]),
    (turned, [ints(2, 3, 4)]),
    (reshaped, [ints(4, 6)]),
    (joined, [ints(2, 3), ints(2, 4)]),
    (triangle, [floats(4, 4)]),
    (copied, [ints(4)]),
    (exponential, [floats(5)]),
]


@pytest.mark.parametrize(("kernel", "args"), CASES, ids=[k.__name__ for k, _ in CASES])
def test_equals_the_kernel_run_by_python(kernel, args):
    copies = [a.copy() for a in args]
    expected = kernel(*copies)
    left = [a.copy() for a in args]
    got = allo.customize(kernel).build()(*left)
    for ours, theirs in zip(left, copies, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    if np.issubdtype(np.asarray(expected).dtype, np.integer):
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_ones_and_zeros():
    def kernel(A: int32[2, 3]) -> int32[2, 3]:
        B = allo.ones((2, 3), dtype=int32)
        C: int8[2, 3] = allo.zeros((2, 3), dtype=int8)
        return A + B + C

    a = ints(2, 3)
    np.testing.assert_array_equal(allo.customize(kernel).build()(a), a + 1)


def test_a_name_becomes_the_band():
    text = str(build_module(product).module)
    assert 'loop_name = "i0", op_name = "product"' in text
    assert 'loop_name = "r0", op_name = "S_r0_0", reduction' in text


def test_results_are_bound_without_a_copy():
    def kernel(A: float32[4, 5], B: float32[5, 6]) -> float32[4, 6]:
        C = allo.matmul(A, B)
        return C

    text = str(build_module(kernel).module)
    assert 'memref.alloc() {name = "C"} : memref<4x6xf32>' in text
    assert "memref.copy" not in text


def refusal(kernel, kind):
    with pytest.raises(kind) as caught:
        build_module(kernel)
    return caught.value.message


def test_shapes_are_checked():
    def bad_product(A: float32[4, 5], B: float32[4, 6]) -> float32[4, 6]:
        return allo.matmul(A, B)

    assert refusal(bad_product, ShapeMismatchError) == (
        "allo.matmul: shapes [4, 5] and [4, 6] do not fit: the last extent of the first must be the "
        "last but one of the second."
    )

    def bad_rank(A: float32[1, 2, 4, 5], B: float32[1, 2, 5, 4]) -> float32[1, 2, 4, 4]:
        return allo.bmm(A, B)

    assert refusal(bad_rank, ShapeMismatchError) == (
        "allo.bmm: two arrays of three dimensions are needed, not [1, 2, 4, 5] and [1, 2, 5, 4]."
    )

    def bad_view(A: float32[4, 5]) -> float32[3, 7]:
        return allo.view(A, (3, 7))

    assert refusal(bad_view, ShapeMismatchError) == (
        "allo.view: an array of shape [4, 5] has 20 elements; [3, 7] would have 21."
    )

    def bad_sum(A: float32[4, 5], B: float32[4]) -> float32[4, 5]:
        return A + B

    assert refusal(bad_sum, ShapeMismatchError) == (
        "Cannot apply '+': shapes [4, 5] and [4] do not broadcast."
    )

    def bad_join(A: float32[4, 5], B: float32[4, 6]) -> float32[8, 5]:
        return allo.concat(A, B, axis=0)

    assert refusal(bad_join, ShapeMismatchError) == (
        "allo.concat: shapes [4, 5] and [4, 6] cannot be joined along axis 0."
    )


def test_types_are_checked():
    def of_integers(A: int32[4, 4]) -> int32[4, 4]:
        return allo.softmax(A)

    assert refusal(of_integers, TypeMismatchError) == "allo.softmax needs floats, not i32."

    def of_a_scalar(x: float32) -> float32[4, 4]:
        return allo.softmax(x)

    assert refusal(of_a_scalar, TypeMismatchError) == (
        "allo.softmax needs an array for x, not a scalar f32."
    )


def test_layernorm_takes_eps():
    def f(X: float32[3, 8], g: float32[8], b: float32[8]) -> float32[3, 8]:
        return allo.layernorm(X, g, b, eps=0.25)

    arguments = [floats(3, 8), floats(8), floats(8)]
    found = allo.customize(f).build()(*arguments)
    np.testing.assert_allclose(found, allo.layernorm(*arguments, eps=0.25), rtol=1e-5, atol=1e-6)

    def negative(X: float32[3, 8], g: float32[8], b: float32[8]) -> float32[3, 8]:
        return allo.layernorm(X, g, b, eps=-1)

    assert refusal(negative, ShapeMismatchError) == (
        "allo.layernorm: eps must be a number that is not negative, not -1."
    )


def test_name_names_the_band_of_any_operation():
    def f(A: float32[3, 4]) -> float32[4, 3]:
        B = allo.exp(A, name="e")
        C: float32[3, 4] = allo.add(B, A, name="plus")
        D = allo.transpose(C, name="turn")
        return allo.relu(D, name="rectify")

    s = allo.customize(f)
    assert list(s.get_loops().loops) == ["e", "plus", "turn", "rectify"]
    s.pipeline(s.get_loops().plus.i1)
    a = np.random.default_rng(3).standard_normal((3, 4)).astype(np.float32)
    expected = np.maximum(np.exp(a) + a, 0).T
    np.testing.assert_allclose(s.build()(a), expected, rtol=1e-5)


def test_a_name_is_a_constant():
    def f(A: float32[4], n: int32) -> float32[4]:
        return allo.exp(A, name=n)

    with pytest.raises(CompileTimeError, match="The name of an operation must be known"):
        allo.customize(f)
