"""Functions of one integer of eight bits, for each of its values, as the kernels compute them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from allo.models.integers.arithmetic import Array

from .fixedpoint import divided, times
from .network import Network, Node, TensorInfo
from .scales import away, quantised, single_ratio, within

F32 = np.float32
Function = Callable[[Network, Node], Array]
"""The result of each value of an operator's input, from the least on."""
_BOUNDS: dict[str, tuple[float | None, float | None]] = {
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}


def _values(source: TensorInfo) -> Array:
    """Every integer of the input, without its zero point."""
    low, high = source.bounds
    return np.arange(low, high + 1, dtype=np.int64) - source.zero


def _relu(network: Network, node: Node) -> Array:
    source, result = network.operand(node, 0), network.result(node)
    return relu_levels(node.kind, source, result, _values(source))


def relu_levels(kind: str, source: TensorInfo, result: TensorInfo, values: Array) -> Array:
    """What integers without their zero point become."""
    levels = times(values, *quantised(single_ratio(source, result))) + result.zero
    return np.asarray(np.clip(levels, *within(result, *_BOUNDS[kind])))


def _leaky(network: Network, node: Node) -> Array:
    source, result = network.operand(node, 0), network.result(node)
    return leaky_levels(node, source, result, _values(source))


def leaky_levels(node: Node, source: TensorInfo, result: TensorInfo, values: Array) -> Array:
    """What integers without their zero point become, by two factors."""
    above = times(values, *quantised(single_ratio(source, result)))
    below = times(values, *quantised(single_ratio(source, result, node.options.Alpha())))
    levels = np.where(values >= 0, above, below) + result.zero
    return np.asarray(np.clip(levels, *result.bounds))


def _requantised(network: Network, node: Node) -> Array:
    source, result = network.operand(node, 0), network.result(node)
    return requantised_levels(source, result, _values(source))


def requantised_levels(source: TensorInfo, result: TensorInfo, values: Array) -> Array:
    """Integers without their zero point on another scale."""
    levels = times(values, *quantised(source.scale / result.scale)) + result.zero
    return np.asarray(np.clip(levels, *result.bounds))


def _by_float(function: Callable[[Array], Array]) -> Function:
    """A function that is computed in float32 when a network is loaded."""

    def levels(network: Network, node: Node) -> Array:
        source, result = network.operand(node, 0), network.result(node)
        inverse = F32(1) / F32(result.scale)
        floats = function(_values(source).astype(F32) * F32(source.scale)).astype(F32)
        rounded = [away(float(each)) for each in floats * inverse]
        return np.asarray(np.clip(np.array(rounded) + result.zero, *result.bounds))

    return levels


def _logistic(x: Array) -> Array:
    powers = np.exp(-x.astype(np.float64)).astype(F32)
    return np.asarray(F32(1) / (F32(1) + powers))


def _tanh(x: Array) -> Array:
    return np.asarray(np.tanh(x.astype(np.float64)))


def _short(mantissa: int) -> int:
    """The 16 bits of a mantissa that products of 16 bits take."""
    return 0x7FFF if mantissa >= (1 << 31) - 1 - (1 << 15) else (mantissa + (1 << 15)) >> 16


def _high16(a: Array, b: Array | int) -> Array:
    """The doubled upper half of a product of 16 bits, rounded."""
    product = a * b
    nudged: Array = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    towards_zero = np.where(nudged >= 0, nudged >> 15, -((-nudged) >> 15))
    return np.minimum(towards_zero, 0x7FFF)


def _raised16(x: Array, bits: int) -> Array:
    return np.asarray(np.clip(x << bits, -0x8000, 0x7FFF))


def _hard_swish(network: Network, node: Node) -> Array:
    source, result = network.operand(node, 0), network.result(node)
    fine = F32(1 / 128) * F32(source.scale)
    mantissa, exponent = quantised(float(fine / F32(result.scale)))
    gate_mantissa, gate_exponent = quantised(float(fine / (F32(3) / F32(32768))))
    values = _values(source) << 7
    scaled, gate = _high16(values, _short(mantissa)), values
    if gate_exponent > 0:
        gate = _raised16(gate, gate_exponent - 1)
    gate = _high16(gate, _short(gate_mantissa))
    if gate_exponent > 0:
        gate = _raised16(gate, 1)
    else:
        gate = divided(gate, -gate_exponent)
    gate = (gate + (1 << 15)) >> 1
    product: Array = np.asarray(gate, np.int64) * scaled
    towards_zero = np.where(product >= 0, product >> 15, -((-product) >> 15))
    levels = divided(towards_zero, -exponent) + result.zero
    return np.asarray(np.clip(levels, *result.bounds))


FUNCTIONS: dict[str, Function] = {
    **dict.fromkeys(_BOUNDS, _relu),
    "LEAKY_RELU": _leaky,
    "QUANTIZE": _requantised,
    "LOGISTIC": _by_float(_logistic),
    "TANH": _by_float(_tanh),
    "HARD_SWISH": _hard_swish,
}
