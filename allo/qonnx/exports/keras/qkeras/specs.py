"""Quantisers of QKeras as they are written: a string, an entry of a configuration, or the object itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

_BITS = {
    "bits": 8,
    "integer": 0,
    "symmetric": 0,
    "keep_negative": True,
    "alpha": None,
    "use_stochastic_rounding": False,
    "scale_axis": None,
    "qnoise_factor": 1.0,
}
_PO2 = {
    "use_stochastic_rounding": False,
    "quadratic_approximation": False,
    "log2_rounding": "rnd",
    "qnoise_factor": 1.0,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "quantized_bits": _BITS,
    "quantized_relu": {
        "bits": 8,
        "integer": 0,
        "use_sigmoid": 0,
        "negative_slope": 0.0,
        "use_stochastic_rounding": False,
        "relu_upper_bound": None,
        "is_quantized_clip": True,
        "qnoise_factor": 1.0,
    },
    "quantized_tanh": {
        "bits": 8,
        "use_stochastic_rounding": False,
        "symmetric": False,
        "use_real_tanh": False,
    },
    "quantized_sigmoid": {
        "bits": 8,
        "symmetric": False,
        "use_real_sigmoid": False,
        "use_stochastic_rounding": False,
    },
    "quantized_po2": {"bits": 8, "max_value": None, **_PO2},
    "quantized_relu_po2": {"bits": 8, "max_value": None, "negative_slope": 0, **_PO2},
    "quantized_hswish": {
        **{key: value for key, value in _BITS.items() if key != "keep_negative"},
        "relu_shift": 3,
        "relu_upper_bound": 6,
    },
    "binary": {"use_01": False, "alpha": None, "use_stochastic_rounding": False},
    "ternary": {
        "alpha": None,
        "threshold": None,
        "use_stochastic_rounding": False,
        "number_of_unrolls": 5,
    },
    "stochastic_binary": {"alpha": None, "temperature": 6.0, "use_real_sigmoid": True},
    "stochastic_ternary": {
        "alpha": None,
        "threshold": None,
        "temperature": 8.0,
        "use_real_sigmoid": True,
        "number_of_unrolls": 5,
    },
}
"""The quantisers that are supported, with their settings in the order of QKeras 0.9 and their defaults."""
_NEVER = frozenset({"var_name", "use_ste", "use_variables"})
"""Settings that change no result."""
_TRAINED = frozenset(
    {"quantized_bits", "binary", "ternary", "stochastic_binary", "stochastic_ternary"}
)
"""Those that take their scale from the weights where a layer leaves ``alpha`` out."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A quantiser, or a function.

    Attributes:
        kind: its name.
        given: its settings; none of a function.
        problem: why it cannot be read; empty where it can.
    """

    kind: str
    given: Mapping[str, Any]
    problem: str = ""

    def __getattr__(self, name: str) -> Any:
        return self.given[name]

    @property
    def quantises(self) -> bool:
        """Whether it is a quantiser that is supported, and no function such as ``relu``."""
        return self.kind in SETTINGS

    def __str__(self) -> str:
        defaults = SETTINGS.get(self.kind, {})
        said = [
            f"{key}={value!r}"
            for key, value in self.given.items()
            if not np.array_equal(value, defaults.get(key, value))
        ]
        return f"{self.kind}({', '.join(said)})"


def spec_of(value: Any) -> Spec | None:
    """A quantiser or an activation as a layer has it; None where it has none.

    Args:
        value: a name, ``"quantized_relu(4, 1)"``, an entry of a configuration, or an object.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, Mapping):
        config = value.get("config") or {}
        if value.get("class_name") == "function" or isinstance(config, str):
            return Spec(str(config), {})
        return _made(str(value["class_name"]), dict(config))
    if callable(getattr(value, "get_config", None)):
        config = dict(value.get_config())
        unsaid = {
            k: getattr(value, k) for k in ("scale_axis", "is_quantized_clip") if hasattr(value, k)
        }
        return _made(type(value).__name__, unsaid | config)
    name = str(getattr(value, "__name__", type(value).__name__))
    return Spec(name, {})


def trained(spec: Spec) -> Spec:
    """The quantiser of weights, whose scale follows from them where ``alpha`` is left out."""
    if spec.kind not in _TRAINED or spec.given.get("alpha", 1) is not None:
        return spec
    symmetric = {"symmetric": True} if "symmetric" in spec.given else {}
    return Spec(spec.kind, {**spec.given, "alpha": "auto_po2", **symmetric}, spec.problem)


def _of_text(text: str) -> Spec:
    found = re.fullmatch(r"\s*(\w+)\s*(\(.*\))?\s*", text, re.DOTALL)
    if found is None:
        return Spec(text, {}, "is no name with settings in brackets")
    kind, settings = found.groups()
    try:
        call = ast.parse(f"f{settings or '()'}", mode="eval").body
        if not isinstance(call, ast.Call):
            return Spec(text, {}, "is no name with settings in brackets")
        args = [ast.literal_eval(arg) for arg in call.args]
        named = {str(key.arg): ast.literal_eval(key.value) for key in call.keywords}
    except (SyntaxError, ValueError):
        return Spec(kind, SETTINGS.get(kind, {}), "has settings that are no numbers, words or None")
    if kind not in SETTINGS:
        return Spec(kind, {})
    names = list(SETTINGS[kind])
    if len(args) > len(names):
        return Spec(kind, SETTINGS[kind], f"has {len(args)} settings, and {len(names)} are known")
    return _made(kind, dict(zip(names, args, strict=False)) | named)


def _made(kind: str, config: dict[str, Any]) -> Spec:
    if kind not in SETTINGS:
        return Spec(kind, {})
    defaults = SETTINGS[kind]
    unknown = sorted(config.keys() - defaults.keys() - _NEVER)
    if unknown:
        return Spec(kind, defaults, f"has the setting {unknown[0]!r}, which is not known")
    given = {key: _number(config.get(key, value)) for key, value in defaults.items()}
    if isinstance(given.get("alpha"), str) and "symmetric" in given:
        given["symmetric"] = True
    return Spec(kind, given)


def _number(value: Any) -> Any:
    """A setting, with arrays and NumPy's numbers as Keras writes them to files."""
    if isinstance(value, Mapping) and "value" in value.get("config", {}):
        return np.asarray(value["config"]["value"], np.float32)
    if isinstance(value, np.ndarray | list):
        array = np.asarray(value, np.float32)
        return array.item() if array.ndim == 0 else array
    return value.item() if isinstance(value, np.generic) else value
