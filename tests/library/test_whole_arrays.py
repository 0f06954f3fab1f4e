"""Whole-array functions are the library's kernels: the same operations in the same order, so equal bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import allo
from allo.ir.types import bfloat16, float16, float32, float64, int8, int16, int32
from allo.library import nn
from tests.engine import engine

TYPES = {
    float32: np.float32,
    float64: np.float64,
    float16: np.float16,
    bfloat16: ml_dtypes.bfloat16,
}
RNG = np.random.default_rng(3)


def numbers(dtype, *shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) * 3).astype(TYPES[dtype])


def softmax[T](X: T[5, 9]) -> T[5, 9]:
    return allo.softmax(X)


def layernorm[T](X: T[5, 9], g: T[9], b: T[9]) -> T[5, 9]:
    return allo.layernorm(X, g, b)


def gelu[T](X: T[5, 9]) -> T[5, 9]:
    return allo.gelu(X)


def conv2d[T](X: T[1, 2, 6, 7], W: T[3, 2, 2, 3]) -> T[1, 3, 5, 5]:
    return allo.conv2d(X, W)


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}")


def assert_same(kernel, library, template, dtype, *shapes, more=()) -> None:
    arguments = [numbers(dtype, *shape) for shape in shapes]
    here = allo.customize(kernel, instantiate=[dtype]).build()(*arguments)
    there = allo.customize(library, instantiate=[dtype, *template]).build()(*arguments, *more)
    assert np.array_equal(bits(here), bits(there))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_bits_are_those_of_the_library(dtype) -> None:
    assert_same(softmax, nn.softmax_rows, [5, 9], dtype, (5, 9))
    assert_same(layernorm, nn.layer_norm, [5, 9], dtype, (5, 9), (9,), (9,))
    assert_same(gelu, nn.GeLU, [5, 9], dtype, (5, 9))
    sizes = [1, 2, 3, 6, 7, 2, 3, 5, 5, 1, 1, 0, 0]
    none = np.zeros(3, TYPES[dtype])
    assert_same(conv2d, nn.conv2d, sizes, dtype, (1, 2, 6, 7), (3, 2, 2, 3), more=(none,))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_interpreter_gives_the_same_bits(dtype) -> None:
    arguments = numbers(dtype, 5, 9), numbers(dtype, 9), numbers(dtype, 9)
    wanted = allo.customize(layernorm, instantiate=[dtype]).build()(*arguments)
    assert np.array_equal(bits(allo.interpret(layernorm, [dtype])(*arguments)), bits(wanted))


def of_rows(x: np.ndarray, kernel, *arguments: np.ndarray) -> np.ndarray:
    """A library kernel of a matrix on the last two axes of an array of any rank."""
    flat = x.reshape(-1, x.shape[-1])
    made = allo.customize(kernel, instantiate=[float32, *flat.shape]).build()
    return made(flat, *arguments).reshape(x.shape)


def row(X: float32[7]) -> float32[7]:
    return allo.softmax(X)


def cube(X: float32[2, 3, 7], g: float32[7], b: float32[7]) -> float32[2, 3, 7]:
    P = allo.softmax(X)
    Q: float32[2, 3, 7] = allo.layernorm(P, g * 2, b)
    return Q


@pytest.mark.parametrize("target", ["llvm", "vitis_hls", "verilog"])
def test_any_rank_on_every_target(target: str) -> None:
    mode = {"mode": "csim"} if target == "vitis_hls" else engine(target)
    x, cubes = numbers(float32, 7), numbers(float32, 2, 3, 7)
    g, b = numbers(float32, 7), numbers(float32, 7)
    found = allo.customize(row).build(target=target, **mode)(x)
    assert np.array_equal(bits(found), bits(of_rows(x[None], nn.softmax_rows)[0]))
    found = allo.customize(cube).build(target=target, **mode)(cubes, g, b)
    wanted = of_rows(of_rows(cubes, nn.softmax_rows), nn.layer_norm, g * 2, b)
    assert np.array_equal(bits(found), bits(wanted))


def parts(
    A: float32[4, 6, 5], S: float32[4, 5], W: int8[2, 1, 2, 2], B: int16[1, 1, 3, 3], n: int32
) -> float32[5]:
    for k in range(3):
        S[k : k + 2, 1:5:3] = allo.softmax(A[k, 2:4, 1:3])
        A[k, :, 1:4] = allo.layernorm(A[k, :, 1:4], A[k, 0, 2:5], A[k, 1, 2:5], eps=0.5)
    C = allo.conv2d(B, W)
    for i, j in allo.grid(2, 2):
        A[0, i, j] = C[0, 1, i, j] if n > 0 else A[1, i, j]
    return allo.gelu(A[2, 3]) + 1.5


@pytest.mark.parametrize("n", [1, 0])
def test_parts_of_arrays_and_mixed_types_as_interpreted(n: int) -> None:
    def arguments() -> list:
        rng = np.random.default_rng(5)
        return [
            rng.standard_normal((4, 6, 5)).astype(np.float32),
            np.zeros((4, 5), np.float32),
            rng.integers(-128, 128, (2, 1, 2, 2)).astype(np.int8),
            rng.integers(-(2**15), 2**15, (1, 1, 3, 3)).astype(np.int16),
            n,
        ]

    one, two = arguments(), arguments()
    found, wanted = allo.customize(parts).build()(*one), allo.interpret(parts)(*two)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert np.array_equal(bits(one[0]), bits(two[0]))
    np.testing.assert_allclose(one[1], two[1], rtol=1e-6)


def two_of_them(A: float32[4, 6], B: float32[4, 6]) -> float32[4, 6]:
    for i, j in allo.grid(4, 6, name="update"):
        B[i, j] = A[i, j] + 1
    P = allo.softmax(A)
    Q = allo.softmax(B, name="rows")
    for i, j in allo.grid(4, 6, name="sum"):
        P[i, j] += Q[i, j]
    return P


def test_loops_have_names_of_their_own() -> None:
    s = allo.customize(two_of_them)
    assert list(s.get_loops().loops) == [
        "update",
        *(f"softmax_{band}" for band in ("row_init", "row_max", "exp_sum", "update")),
        *(f"rows_{band}" for band in ("row_init", "row_max", "exp_sum")),
        "rows",
        "sum",
    ]
    assert list(s.get_loops().rows.loops) == ["rows_i", "rows_j"]
    s.pipeline(s.get_loops().rows["rows_j"])
    s.reorder(
        s.get_loops()["softmax_exp_sum"]["softmax_j"], s.get_loops()["softmax_exp_sum"]["softmax_i"]
    )
    s.partition(s.softmax_total)
    a, b = numbers(float32, 4, 6), np.zeros((4, 6), np.float32)
    found = s.build()(a, b)
    wanted = of_rows(a, nn.softmax_rows) + of_rows(a + np.float32(1), nn.softmax_rows)
    assert np.array_equal(bits(found), bits(wanted))


def test_what_is_said_of_a_loop_has_the_place_of_the_call() -> None:
    text = str(
        allo.customize(softmax, instantiate=[float32]).module.operation.get_asm(
            enable_debug_info=True
        )
    )
    assert "test_whole_arrays.py" in text
    assert "library/nn" not in text
