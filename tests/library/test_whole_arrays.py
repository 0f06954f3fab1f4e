"""Whole-array functions are the library's kernels: the same operations in the same order, so equal bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import allo
from allo.ir.types import bfloat16, float16, float32, float64
from allo.library import nn

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
