"""Quantisers of QKeras on weights: levels and their unit, in float32 as QKeras computes them.

A scale ``"auto"`` or ``"auto_po2"`` follows from the weights of each output and is a constant of the network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....reading import Array
from .specs import Spec

EPSILON = np.float32(1e-7)
"""``keras.backend.epsilon()``, which keeps quotients and logarithms finite."""
_LOG2 = np.float32(np.log(2.0))
_ROUNDS = 5
"""How often a scale of a power of two is fitted again."""


@dataclass(frozen=True, slots=True)
class Stored:
    """``levels * unit``.

    Attributes:
        levels: whole numbers, in float64.
        unit: of the same rank, with an extent of 1 where it does not vary; or a scalar.
    """

    levels: Array
    unit: Array

    @property
    def values(self) -> Array:
        """What the layer computes with."""
        return np.asarray(self.levels * self.unit, np.float32)


def stored(spec: Spec, weights: Array) -> Stored | None:
    """Weights behind a quantiser; None where it has no form for weights."""
    form = _FORMS.get(spec.kind)
    if form is None:
        return None
    with np.errstate(all="ignore"):
        return form(spec, np.asarray(weights, np.float32))


def _bits(spec: Spec, x: Array) -> Stored:
    keep = bool(spec.keep_negative)
    steps, span = 2.0 ** (spec.bits - keep), 2.0**spec.integer
    if isinstance(spec.alpha, str):
        return _fitted(spec, x / np.float32(span), span)
    factor = np.asarray(1.0 if spec.alpha is None else spec.alpha, np.float64)
    if spec.bits == keep:
        return Stored(_signs(x), factor)
    low = keep * (bool(spec.symmetric) - steps)
    levels = np.clip(np.rint(x * np.float32(steps / span)), low, steps - 1)
    return Stored(levels.astype(np.float64), span / steps * factor)


def _fitted(spec: Spec, x: Array, span: float) -> Stored:
    """With a scale for each output: of the greatest weight, or the power of two that fits best."""
    most = np.float32(2.0 ** (spec.bits - 1) - 1)
    axes = _axes(x, spec.given.get("scale_axis")) or (0,)
    scale = np.abs(x).max(axes, keepdims=True) / most

    def levels() -> Array:
        return np.sign(x) * np.minimum(np.floor(np.abs(x) / scale + np.float32(0.5)), most)

    found = levels()
    if spec.alpha == "auto_po2":
        scale = _power(scale)
        for _ in range(_ROUNDS):
            found = levels()
            scale = fit(spec, x, found)
    return Stored(np.nan_to_num(found.astype(np.float64)), scale.astype(np.float64) * span)


def _binary(spec: Spec, x: Array) -> Stored:
    signs = _signs(x)
    levels = (signs + 1) / 2 if spec.given.get("use_01") else signs
    return Stored(levels, _scale(spec, x, levels))


def _ternary(spec: Spec, x: Array) -> Stored:
    if not isinstance(spec.alpha, str):
        threshold = np.float32(0.33 if spec.threshold is None else spec.threshold)
        levels = (np.abs(x) >= threshold) * np.sign(x)
        return Stored(levels.astype(np.float64), _scale(spec, x, levels))
    axes = _axes(x) or tuple(range(x.ndim))
    scale = 2 * np.abs(x).max(axes, keepdims=True) / np.float32(3)
    scale = _power(scale) if spec.alpha == "auto_po2" else scale
    levels = np.zeros_like(x)
    for _ in range(spec.number_of_unrolls):
        near = scale * np.rint(x / scale)
        levels = (np.abs(near) >= scale / 2) * np.sign(x)
        scale = fit(spec, x, levels)
    return Stored(levels.astype(np.float64), scale.astype(np.float64))


def _po2(spec: Spec, x: Array) -> Stored:
    exponents = powers(spec, np.abs(x), spec.bits - 1)
    return _of_powers(_signs(x), exponents)


def _relu_po2(spec: Spec, x: Array) -> Stored:
    slope = np.float32(spec.negative_slope)
    above = powers(spec, np.maximum(x, 0), spec.bits)
    if slope == 0:
        return _of_powers(np.ones(x.shape), above)
    below = powers(spec, np.maximum(-x, 0) * slope, spec.bits)
    return _of_powers(np.where(x >= 0, 1.0, -1.0), np.where(x >= 0, above, below))


def _relu(spec: Spec, x: Array) -> Stored | None:
    if spec.use_sigmoid or spec.negative_slope:
        return None
    steps, span = 2.0**spec.bits, 2.0**spec.integer
    levels = np.clip(np.rint(x * np.float32(steps / span)), 0, steps - 1)
    return Stored(levels.astype(np.float64), np.asarray(span / steps))


_FORMS: dict[str, Callable[[Spec, Array], Stored | None]] = {
    "quantized_bits": _bits,
    "quantized_relu": _relu,
    "quantized_po2": _po2,
    "quantized_relu_po2": _relu_po2,
    "binary": _binary,
    "ternary": _ternary,
    "stochastic_binary": _binary,
    "stochastic_ternary": _ternary,
}
WEIGHTS = tuple(_FORMS)
"""The quantisers that have a form for weights."""


# --- scales -------------------------------------------------------------------------------------


def fit(spec: Spec, x: Array, levels: Array) -> Array:
    """The scale of each output by least squares, as a power of two where ``alpha`` says so."""
    axes = _axes(x, spec.given.get("scale_axis"))
    products, squares = x * levels, levels * levels
    if axes:
        products = products.mean(axes, keepdims=True, dtype=np.float32)
        squares = squares.mean(axes, keepdims=True, dtype=np.float32)
    scale = np.asarray(products / (squares + EPSILON), np.float32)
    return _power(scale) if spec.alpha == "auto_po2" else scale


def _scale(spec: Spec, x: Array, levels: Array) -> Array:
    if isinstance(spec.alpha, str):
        return fit(spec, x, levels.astype(np.float32)).astype(np.float64)
    return np.asarray(1.0 if spec.alpha is None else spec.alpha, np.float64)


def _axes(x: Array, kept: Any = None) -> tuple[int, ...]:
    """All dimensions but that of the outputs; none of a vector, each element of which has its own scale."""
    if x.ndim < 2:
        return ()
    kept = x.ndim - 1 if kept is None else kept % x.ndim
    return tuple(axis for axis in range(x.ndim) if axis != kept)


def _power(scale: Array) -> Array:
    exponent = np.rint(np.log(scale + EPSILON) / _LOG2)
    return np.asarray(np.exp2(exponent), np.float32)


def _signs(x: Array) -> Array:
    return np.where(x >= 0, 1.0, -1.0)


# --- powers of two ------------------------------------------------------------------------------


def exponents(spec: Spec, bits: int) -> tuple[int, int]:
    """The least and the greatest exponent; one bit is its sign where values above 1 are possible."""
    signed = spec.max_value is None or spec.max_value > 1
    least, most = -(2 ** (bits - signed)), 2 ** (bits - signed) - 1
    return least, 2 * (most // 2) if spec.quadratic_approximation else most


def powers(spec: Spec, x: Array, bits: int) -> Array:
    """The exponents of numbers that are not negative."""
    least, most = exponents(spec, bits)
    held = np.maximum(x, EPSILON)
    if spec.max_value is not None:
        held = np.minimum(held, np.float32(spec.max_value))
    if spec.quadratic_approximation:
        held = np.sqrt(held)
    near = np.floor if spec.log2_rounding == "floor" else np.rint
    found = np.clip(near(np.log(held) / _LOG2), least, most)
    found = found * (2 if spec.quadratic_approximation else 1)
    return np.asarray(np.where(x < EPSILON, least, found), np.float64)


def _of_powers(signs: Array, exponents: Array) -> Stored:
    least = exponents.min(initial=0)
    return Stored(signs * 2.0 ** (exponents - least), np.asarray(2.0**least))
