"""Scale migration: channels that are large behind a norm are made smaller there, and their weights larger.

SmoothQuant (Xiao et al. 2023, arXiv:2211.10438, section 4.1, equation 4) with a strength of one half:
the factor of channel j is ``max|x_j| ** 0.5 / max|w_j| ** 0.5``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from allo.models.graph import Model, Operator, Ref
from allo.models.integers.editing import array_of, readers_of

from .observe import Peaks

NORMS = ("aten.layer_norm.default", "aten.rms_norm.default")
_LINEAR = "aten.linear.default"
_STRENGTH = 0.5
_LEAST = 1e-5


def migrated_norms(model: Model) -> dict[str, list[Operator]]:
    """The norms over one dimension whose results only linear layers read, and these layers."""
    readers = readers_of(model)
    found = {}
    for op in model.operators:
        linears = readers.get(op.name, [])
        is_norm = op.target in NORMS and array_of(model, op.args["weight"]) is not None
        if not is_norm or len(op.args["normalized_shape"]) != 1 or not linears:
            continue
        if op.name not in model.outputs and all(_is_linear(model, o, op.name) for o in linears):
            found[op.name] = linears
    return found


def _is_linear(model: Model, op: Operator, source: str) -> bool:
    known = op.target == _LINEAR and op.args["input"] == Ref(source)
    return known and array_of(model, op.args["weight"]) is not None


def migrate(model: Model, peaks: Peaks) -> None:
    """Divide norms by the factors of their channels, and multiply the weights behind by them."""
    for name, linears in migrated_norms(model).items():
        weights = [array_of(model, op.args["weight"]) for op in linears]
        seen = np.maximum(peaks.of_channel[name].astype(np.float64), _LEAST)
        largest = np.maximum(np.max([np.abs(w).max(0) for w in weights], 0), _LEAST)
        factor = seen**_STRENGTH / largest ** (1.0 - _STRENGTH)
        norm = next(op for op in model.operators if op.name == name)
        _scale(model, norm, "weight", 1.0 / factor)
        if norm.args.get("bias") is not None:
            _scale(model, norm, "bias", 1.0 / factor)
        for op in linears:
            _scale(model, op, "weight", factor)
        peaks.of_value[name] = float((seen / factor).max())


def _scale(model: Model, op: Operator, key: str, factor: np.ndarray) -> None:
    """Give an operator a scaled copy of a weight."""
    at = next(k for k, other in enumerate(model.operators) if other.name == op.name)
    op = model.operators[at]
    array = array_of(model, op.args[key])
    name = f"{op.name}_{key}_smooth"
    path = model.weights.get(op.args[key].name, (name, None))[0]
    model.weights[name] = (f"{path}_smooth", (array * factor).astype(np.float32))
    model.operators[at] = replace(op, args={**op.args, key: Ref(name)})
