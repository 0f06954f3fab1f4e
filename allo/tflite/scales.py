"""Real factors as TFLite's kernels hold them: a mantissa of 31 bits and a power of two."""

from __future__ import annotations

from math import floor, frexp

import numpy as np

from allo.models.integers.arithmetic import Array

from .network import TensorInfo

HIGH = 31
"""Bits of a mantissa."""
LEFT_SHIFT = {"int8": 20, "int16": 15}
"""Bits that operands of a sum are shifted to the left by, before they are brought to one scale."""


def quantised(real: float) -> tuple[int, int]:
    """``real ≈ mantissa / 2 ** 31 * 2 ** exponent``, halves of the mantissa away from zero."""
    if real == 0:
        return 0, 0
    fraction, exponent = frexp(real)
    mantissa = floor(fraction * (1 << HIGH) + 0.5)
    if mantissa == 1 << HIGH:
        mantissa, exponent = mantissa // 2, exponent + 1
    return (0, 0) if exponent < -HIGH else (mantissa, exponent)


def reduced(mantissa: int) -> int:
    """The 16 bits of a mantissa by which sums of 64 bits are multiplied."""
    return (mantissa + (1 << 15)) >> 16 if mantissa < 0x7FFF0000 else 0x7FFF


def away(value: float) -> int:
    """The nearest whole number, halves away from zero, of a float32."""
    single = float(np.float32(value))
    return floor(single + 0.5) if single >= 0 else -floor(-single + 0.5)


def clamped(result: TensorInfo, activation: int) -> tuple[int, int]:
    """The bounds that a fused activation leaves of a result's integers.

    Args:
        result: the tensor.
        activation: 0 for none, 1 RELU, 2 RELU_N1_TO_1, 3 RELU6.
    """
    return within(
        result, *{0: (None, None), 1: (0.0, None), 2: (-1.0, 1.0), 3: (0.0, 6.0)}[activation]
    )


def within(result: TensorInfo, least: float | None, most: float | None) -> tuple[int, int]:
    """The integers of a result that stand for numbers between two bounds."""
    low, high = result.bounds
    scale = np.float32(result.scale)
    if least is not None:
        low = max(low, result.zero + away(float(np.float32(least) / scale)))
    if most is not None:
        high = min(high, result.zero + away(float(np.float32(most) / scale)))
    return low, high


def product_rates(
    source: TensorInfo, weight: TensorInfo, result: TensorInfo, channels: int
) -> Array:
    """Of each channel, what a sum of products is multiplied by, in float64."""
    scales = np.broadcast_to(weight.scales.astype(np.float64), channels)
    return np.asarray(source.scale * scales / result.scale)


def sum_factors(
    left: TensorInfo, right: TensorInfo, result: TensorInfo
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """What the two operands and the sum of an ADD or SUB are multiplied by."""
    twice = 2 * max(left.scale, right.scale)
    shift = LEFT_SHIFT[result.dtype]
    return (
        quantised(left.scale / twice),
        quantised(right.scale / twice),
        quantised(twice / ((1 << shift) * result.scale)),
    )


def product_factor(left: TensorInfo, right: TensorInfo, result: TensorInfo) -> tuple[int, int]:
    """What a product of two activations is multiplied by."""
    return quantised(left.scale * right.scale / result.scale)


def single_ratio(source: TensorInfo, result: TensorInfo, factor: float = 1.0) -> float:
    """The scale of one tensor, times a factor, over that of another, in float32."""
    scaled = np.float32(source.scale) * np.float32(factor)
    return float(scaled / np.float32(result.scale))


def mean_factor(source: TensorInfo, result: TensorInfo, count: int) -> tuple[int, int]:
    """What a sum of so many elements is multiplied by, to be their mean on the scale of the result."""
    mantissa, exponent = quantised(source.scale / result.scale)
    shift = min(count.bit_length() - 1, 32, HIGH + exponent)
    return (mantissa << shift) // count, exponent - shift
