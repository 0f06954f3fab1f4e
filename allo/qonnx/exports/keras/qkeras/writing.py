"""QKeras's quantisers and functions as nodes of a QONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.dialects.text.near import did_you_mean

from ....reading import Array
from ..writing import CURVES, Writer
from .constants import EPSILON, WEIGHTS, Stored, exponents, stored
from .specs import SETTINGS, Spec, spec_of, trained

_WIDEST = 22
"""Bits of the levels that powers of two may need."""
_LINES = {
    "hard_sigmoid": 0.5,
    "smooth_sigmoid": 0.1875,
    "hard_tanh": 0.5,
    "smooth_tanh": 0.1875,
    "binary_sigmoid": 0.5,
    "binary_tanh": 0.5,
}
"""Functions of QKeras that are lines between two bounds, and how steep these are."""


class QWriter(Writer):
    """The nodes of a network of QKeras."""

    def kind(self, layer: Any) -> str:
        """The class of a layer, as its configuration names it."""
        return str(layer.kind)

    def ended(self, layer: Any, name: str) -> str:
        """The result of a layer behind its activation."""
        spec = spec_of(layer.activation)
        return name if spec is None else self.activated(name, spec)

    # --- weights --------------------------------------------------------------------------------

    def stored(self, setting: str, values: Array, *, scaled: bool = False) -> Stored | None:
        """Weights of the layer behind their quantiser; None where they have none.

        Args:
            setting: what the layer calls the quantiser.
            values: the weights.
            scaled: whether the scale follows from the weights where ``alpha`` is left out.

        Raises:
            UnsupportedOperatorError: a quantiser that weights cannot have.
        """
        spec = spec_of(self.layer.config.get(setting))
        if spec is None:
            return None
        self.quantisers += 1
        if scaled:
            spec = trained(spec)
        found = stored(self._checked(spec, setting), values)
        if found is None:
            raise self.refusal(
                self.layer,
                f"with {setting}={spec}",
                f"for weights, {', '.join(WEIGHTS)} are supported.",
            )
        return found

    def values(self, setting: str, values: Array, *, scaled: bool = False) -> Array:
        """As :meth:`stored`, in float32."""
        found = self.stored(setting, values, scaled=scaled)
        return np.asarray(values, np.float32) if found is None else found.values

    def held(self, found: Stored) -> str:
        """Weights as integers and their unit."""
        unit = np.where(found.unit == 0, 1.0, found.unit)
        bits = int(np.abs(found.levels).max(initial=0)).bit_length() + 1
        if bits > _WIDEST:
            return self.constant(found.values)
        return self.quant(found.values, unit, bits, signed=True)

    def quant(
        self,
        name: str | Array,
        unit: Array | float,
        bits: int,
        *,
        signed: bool,
        narrow: bool = False,
    ) -> str:
        """Multiples of a unit, with halves to even."""
        flags = {"signed": int(signed), "narrow": int(narrow), "rounding_mode": "ROUND"}
        return self("Quant", name, unit, 0.0, float(bits), **flags)

    # --- activations ----------------------------------------------------------------------------

    def activated(self, name: str, spec: Spec) -> str:
        """A tensor behind a quantiser or a function.

        Raises:
            UnsupportedOperatorError: one that is not supported, or that depends on chance or on the data.
        """
        if spec.quantises:
            self.quantisers += 1
            self._checked(spec, "the activation")
            if isinstance(spec.given.get("alpha"), str):
                raise self.refusal(
                    self.layer,
                    f"with {spec} on activations, whose scale follows from the data of each call",
                    "alpha=1 or another number is a constant.",
                )
            return _FORMS[spec.kind](self, name, spec)
        if spec.kind in _LINES:
            return self._line(name, spec.kind)
        if spec.kind == "softmax":
            return self("Softmax", name, axis=-1)
        if spec.kind in CURVES or spec.kind == "linear":
            return self.bent(self.layer, name, spec.kind)
        raise self._unknown(spec)

    def _unknown(self, spec: Spec) -> Exception:
        functions = ("linear", "softmax", *CURVES, *_LINES)
        why = f"with {spec.kind!r}, which is not supported"
        if spec.kind == "bernoulli":
            why = "with 'bernoulli', whose results depend on chance in each call"
        near = did_you_mean(spec.kind, (*SETTINGS, *functions))
        return self.refusal(
            self.layer,
            why,
            f"{near}quantisers are {', '.join(SETTINGS)}; functions are {', '.join(functions)}.",
        )

    def _checked(self, spec: Spec, setting: str) -> Spec:
        """A quantiser whose settings say what hardware can do."""
        if not spec.quantises:
            raise self._unknown(spec)
        if spec.problem:
            raise self.refusal(
                self.layer,
                f"with {setting} {spec.kind!r} that {spec.problem}",
                f"the settings are {', '.join(SETTINGS[spec.kind])}.",
            )
        if spec.given.get("use_stochastic_rounding"):
            raise self.refusal(
                self.layer,
                f"with {setting}={spec}, which rounds by chance",
                "model.predict rounds to the nearest: set use_stochastic_rounding=False, and save again.",
            )
        if spec.given.get("qnoise_factor", 1.0) != 1.0:
            raise self.refusal(
                self.layer,
                f"with {setting}={spec}, which quantises in part only",
                "qnoise_factor=1.0 is the quantiser itself.",
            )
        least = 2 if isinstance(spec.given.get("alpha"), str) or "tanh" in spec.kind else 1
        if spec.given.get("bits", least) < least:
            raise self.refusal(
                self.layer,
                f"with {setting}={spec} of {spec.bits} bits",
                f"at least {least} are supported; binary() has one.",
            )
        return spec

    def _line(self, name: str, kind: str) -> str:
        name = self("Add", self("Mul", name, _LINES[kind]), 0.5)
        name = self("Min", self("Max", name, 0.0), 1.0)
        if kind.startswith("binary"):
            self.quantisers += 1
            name = self.quant(name, 1.0, 1, signed=False)
        if kind.endswith("sigmoid"):
            return name
        return self("Sub", self("Mul", name, 2.0), 1.0)

    # --- one quantiser each ---------------------------------------------------------------------

    def _bits(self, name: str, spec: Spec) -> str:
        keep = bool(spec.given.get("keep_negative", True))
        if spec.bits == keep:
            return self._times(self("BipolarQuant", name, 1.0), spec)
        unit = 2.0 ** (spec.integer - spec.bits + keep)
        narrow = keep and bool(spec.symmetric)
        return self._times(self.quant(name, unit, spec.bits, signed=keep, narrow=narrow), spec)

    def _times(self, name: str, spec: Spec) -> str:
        if spec.alpha is None or np.all(np.asarray(spec.alpha) == 1):
            return name
        return self("Mul", name, np.asarray(spec.alpha, np.float32))

    def _relu(self, name: str, spec: Spec) -> str:
        slope = float(spec.negative_slope)
        steps, span = 2.0 ** (spec.bits - (slope != 0)), 2.0**spec.integer
        unit = span / steps
        if not spec.is_quantized_clip and spec.relu_upper_bound:
            raise self.refusal(
                self.layer,
                f"with {spec}, whose bound need not be a level",
                "is_quantized_clip=True has the bound that bits and integer give.",
            )
        if spec.use_sigmoid:
            if slope:
                raise self.refusal(
                    self.layer, f"with {spec}, a sigmoid with a slope", "use one of them."
                )
            name = self._line(self("Mul", name, 1 / span), "hard_sigmoid")
            name = self.quant(name, 1 / steps, spec.bits + 1, signed=False)
            name = self("Sub", self("Mul", name, 2.0 * span), span)
        if not slope:
            return self.quant(name, unit, spec.bits, signed=False)
        least = slope * steps
        if least < 1:
            raise self.refusal(
                self.layer,
                f"with {spec}, whose slope leaves less than one level below 0",
                "more bits, or negative_slope=0, have levels there.",
            )
        name = self("Max", self("LeakyRelu", name, alpha=slope), -slope * span)
        wide = max(int(least - 1).bit_length(), spec.bits - 1) + 1
        return self.quant(self("Min", name, span - unit), unit, wide, signed=True)

    def _tanh(self, name: str, spec: Spec) -> str:
        name = self("Tanh", name) if spec.use_real_tanh else self._line(name, "hard_tanh")
        unit = 2.0 ** (1 - spec.bits)
        return self.quant(name, unit, spec.bits, signed=True, narrow=bool(spec.symmetric))

    def _sigmoid(self, name: str, spec: Spec) -> str:
        real = spec.use_real_sigmoid
        name = self("Sigmoid", name) if real else self._line(name, "hard_sigmoid")
        unit = 2.0**-spec.bits
        name = self("Max", name, unit) if spec.symmetric else name
        return self.quant(name, unit, spec.bits, signed=False)

    def _binary(self, name: str, spec: Spec) -> str:
        if not spec.given.get("use_01"):
            return self._times(self("BipolarQuant", name, 1.0), spec)
        return self._times(self._steps(name, [0.0], 0.0), spec)

    def _ternary(self, name: str, spec: Spec) -> str:
        edge = np.float32(0.33 if spec.threshold is None else spec.threshold)
        if edge <= 0:
            raise self.refusal(
                self.layer,
                f"with {spec}, whose threshold is not above 0",
                "binary() has two levels.",
            )
        below = float(np.nextafter(-edge, np.float32(0)))  # the threshold itself is below
        return self._times(self._steps(name, [below, float(edge)], -1.0), spec)

    def _steps(self, name: str, edges: list[float], first: float) -> str:
        """How many edges are reached, and ``first``."""
        flags = {"out_scale": 1.0, "out_bias": first, "out_dtype": "INT2"}
        return self("MultiThreshold", name, np.asarray([edges], np.float32), **flags)

    def _powers(self, name: str, spec: Spec) -> str:
        relu = spec.kind == "quantized_relu_po2"
        if spec.given.get("negative_slope"):
            raise self.refusal(self.layer, f"with {spec}", "negative_slope=0 is supported.")
        if spec.quadratic_approximation:
            raise self.refusal(
                self.layer,
                f"with {spec}",
                "even exponents are for variances: quadratic_approximation=False is supported.",
            )
        low, high = exponents(spec, spec.bits - (not relu))
        if high - low >= _WIDEST:
            raise self.refusal(
                self.layer,
                f"with {spec}, from 2**{low} to 2**{high}",
                f"at most {_WIDEST} exponents are supported: of fewer bits, or with max_value=1.",
            )
        size = self("Max", self("Relu" if relu else "Abs", name), float(EPSILON))
        if spec.max_value is not None:
            size = self("Min", size, float(spec.max_value))
        size = self("Div", self("Log", size), float(np.float32(np.log(2.0))))
        size = self("Floor" if spec.log2_rounding == "floor" else "Round", size)
        found = self("Pow", 2.0, self("Min", self("Max", size, float(low)), float(high)))
        if relu:
            return self.quant(found, 2.0**low, high - low + 1, signed=False)
        sign = self("Sign", self("Add", self("Sign", name), 0.5))  # 1 of 0
        return self.quant(self("Mul", found, sign), 2.0**low, high - low + 2, signed=True)

    def _hswish(self, name: str, spec: Spec) -> str:
        bound = float(spec.relu_upper_bound)
        gate = self("Min", self("Relu", self("Add", name, float(spec.relu_shift))), bound)
        return self._bits(self("Div", self("Mul", name, gate), bound), spec)


_FORMS = {
    "quantized_bits": QWriter._bits,
    "quantized_relu": QWriter._relu,
    "quantized_tanh": QWriter._tanh,
    "quantized_sigmoid": QWriter._sigmoid,
    "quantized_po2": QWriter._powers,
    "quantized_relu_po2": QWriter._powers,
    "quantized_hswish": QWriter._hswish,
    "binary": QWriter._binary,
    "ternary": QWriter._ternary,
    "stochastic_binary": QWriter._binary,
    "stochastic_ternary": QWriter._ternary,
}
