"""Whole-array functions at work. Each takes ``Array``s and functions of single elements."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from .arrays import Array, row_major, size_of
from .elementary import apply
from .formats import FORMATS, ROUND, divide, largest, square_root

Step = Callable[[Any, Any, Any], Any]
"""From the sum so far and two factors to the next sum."""


def matrix_product(left: Array, right: Array, step: Step, first: Any, shape: Any) -> Array:
    """Products of matrices, and of batches of them, which broadcast."""
    rows, depth, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    batch = shape[:-2]
    one, two = left.elements((*batch, rows, depth)), right.elements((*batch, depth, columns))
    data = []
    for number in range(size_of(batch)):
        low, base = number * rows * depth, number * depth * columns
        for i in range(rows):
            for j in range(columns):
                total = first
                for k in range(depth):
                    a, b = one[low + i * depth + k], two[base + k * columns + j]
                    total = step(total, a, b)
                data.append(total)
    return Array(data, shape)


def convolution(
    inputs: list[Any],
    weights: list[Any],
    in_shape: Any,
    shape: Any,
    window: Any,
    step: Step,
    first: Any,
) -> Array:
    """NCHW by FCHW, stride 1, no padding."""
    strides = row_major(in_shape)
    kernel = row_major(window)
    data = []
    for n, f, h, w in product(*map(range, shape)):
        total = first
        for c, i, j in product(*map(range, window[1:])):
            a = inputs[n * strides[0] + c * strides[1] + (h + i) * strides[2] + w + j]
            b = weights[f * kernel[0] + c * kernel[1] + i * kernel[2] + j]
            total = step(total, a, b)
        data.append(total)
    return Array(data, shape)


def pool(
    inputs: list[Any], in_shape: Any, shape: Any, window: Any, step: Callable[[Any, Any], Any]
) -> Array:
    """A function over all elements of each window, stride 1."""
    strides = row_major(in_shape)
    data = []
    for n, c, h, w in product(*map(range, shape)):
        base = n * strides[0] + c * strides[1]
        parts = [
            inputs[base + (h + i) * strides[2] + w + j]
            for i, j in product(range(window[0]), range(window[1]))
        ]
        total = parts[0]
        for part in parts[1:]:
            total = step(total, part)
        data.append(total)
    return Array(data, shape)


def joined(left: Array, right: Array, axis: int, shape: tuple[int, ...]) -> Array:
    """Two arrays joined along an axis."""
    first, second = left.elements(), right.elements()
    inner = size_of(shape[axis + 1 :])
    one, two = left.shape[axis] * inner, right.shape[axis] * inner
    data: list[Any] = []
    for k in range(size_of(shape[:axis])):
        data += first[k * one : (k + 1) * one] + second[k * two : (k + 1) * two]
    return Array(data, shape)


def lower_triangle(elements: list[Any], shape: tuple[int, ...], zero: Any) -> Array:
    """The elements on and below the diagonal of the last two axes, 0 above it."""
    columns = shape[-1]
    rows = shape[-2]
    data = [
        e if position % columns <= position // columns % rows else zero
        for position, e in enumerate(elements)
    ]
    return Array(data, shape)


def _rounding(name: str) -> Callable[[float], float]:
    return (lambda x: x) if name == "f64" else ROUND[name]


def softmax(elements: list[float], shape: tuple[int, ...], name: str) -> Array:
    """exp(x - max) over the sum of these, along the last axis; one rounding an operation."""
    rounded, form = _rounding(name), FORMATS[name]
    length = shape[-1]
    data: list[float] = []
    for low in range(0, len(elements), length):
        row = elements[low : low + length]
        top = row[0]
        for x in row[1:]:
            top = largest(top, x)
        powers = [apply("exp", rounded(x - top), form) for x in row]
        total = 0.0
        for power in powers:
            total = rounded(total + power)
        data += [rounded(divide(power, total)) for power in powers]
    return Array(data, shape)


def layer_norm(
    elements: list[float],
    gamma: list[float],
    beta: list[float],
    shape: tuple[int, ...],
    eps: float,
    name: str,
) -> Array:
    """Mean 0 and variance 1 along the last axis, scaled and shifted; one rounding an operation."""
    rounded = _rounding(name)
    wide = _rounding("f64" if name == "f64" else "f32")  # the type of eps
    length = shape[-1]
    data: list[float] = []

    def total(row: list[float]) -> float:
        found = 0.0
        for term in row:
            found = rounded(found + term)
        return found

    for low in range(0, len(elements), length):
        row = elements[low : low + length]
        mean = rounded(divide(total(row), rounded(length)))
        centred = [rounded(x - mean) for x in row]
        variance = rounded(divide(total([rounded(c * c) for c in centred]), rounded(length)))
        scale = rounded(divide(1.0, rounded(square_root(rounded(wide(variance + wide(eps)))))))
        data += [
            rounded(rounded(rounded(g * c) * scale) + b)
            for c, g, b in zip(centred, gamma, beta, strict=True)
        ]
    return Array(data, shape)


def functions() -> dict[str, Any]:
    """The functions by the names of the translated text."""
    return {
        "matrix_product": matrix_product,
        "convolution": convolution,
        "pool": pool,
        "joined": joined,
        "lower_triangle": lower_triangle,
        "softmax": softmax,
        "layer_norm": layer_norm,
    }
