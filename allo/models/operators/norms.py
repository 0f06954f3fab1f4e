"""Normalisation: batch, layer, group and root mean square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..body import Call, Emitter, Result
from ..tensors import Tensor


def _scale(weight: Any, variance: Any, eps: float) -> Any:
    root = np.sqrt(variance.astype(np.float64) + eps)
    return ((1.0 if weight is None else weight) / root).astype(variance.dtype)


def _shift(weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Any:
    scale = (1.0 if weight is None else weight) / np.sqrt(variance.astype(np.float64) + eps)
    return ((0.0 if bias is None else bias) - mean * scale).astype(variance.dtype)


def _batch_norm(call: Call) -> Result:
    """Folded while compiling: a factor and an addend for each channel."""
    eps = call["eps"]
    scale = call.derive(
        "scale", lambda weight, var: _scale(weight, var, eps), ("weight", "running_var")
    )
    shift = call.derive(
        "shift",
        lambda weight, bias, mean, var: _shift(weight, bias, mean, var, eps),
        ("weight", "bias", "running_mean", "running_var"),
    )
    source, target = call.tensor("input"), call.array()
    with call.text.loops(target.shape, "batch_norm") as at:
        text = f"{source.at(*at)} * {scale.at(at[1])} + {shift.at(at[1])}"
        call.text.line(f"{target.at(*at)} = {text}")
    return [target, None, None]  # the two are of training


def _normalised(
    call: Call,
    source: Tensor,
    target: Tensor,
    kept: int,
    affine: Sequence[tuple[str, Tensor]],
    eps: float,
    *,
    centred: bool,
) -> None:
    """Normalise over all dimensions but the first ``kept``: ``(x - mean) / sqrt(var + eps)``.

    ``affine`` holds what is then multiplied or added, of the shape of the source.
    """
    text, name, dtype = call.text, call.op.kind, target.dtype
    outer, inner = source.shape[:kept], source.shape[kept:]
    size = 1
    for extent in inner:
        size *= extent
    with text.loops(outer, name) as at:
        if centred:
            text.line(f"mean: {dtype} = 0")
            with text.loops(inner, prefix="k", reduction=True) as k:
                text.line(f"mean += {source.at(*at, *k)}")
            text.line(f"mean = mean / {size}.0")
        text.line(f"var: {dtype} = 0")
        with text.loops(inner, prefix="r", reduction=True) as r:
            minus = " - mean" if centred else ""
            text.line(f"elem: {dtype} = {source.at(*at, *r)}{minus}")
            text.line("var += elem * elem")
        text.line(f"other: {dtype} = var / {size}.0 + {eps!r}")
        text.line(f"scale: {dtype} = 1.0 / allo.sqrt(other)")
        with text.loops(inner, f"{name}_scale", prefix="j") as j:
            minus = " - mean" if centred else ""
            text.line(f"third: {dtype} = ({source.at(*at, *j)}{minus}) * scale")
            value = "third"
            for sign, tensor in affine:
                value = f"{value} {sign} {tensor.at(*at, *j)}"
            text.line(f"{target.at(*at, *j)} = {value}")


def _layer_norm(call: Call) -> Result:
    source, target = call.tensor("input"), call.array()
    kept = len(source.shape) - len(call["normalized_shape"])
    affine = _affine(call, source.shape)
    _normalised(call, source, target, kept, affine, call["eps"], centred=True)
    return target


def _affine(call: Call, shape: Sequence[int]) -> list[tuple[str, Tensor]]:
    found = [("*", call.optional("weight")), ("+", call.optional("bias"))]
    return [(sign, tensor.expanded(shape)) for sign, tensor in found if tensor]


def _rms_norm(call: Call) -> Result:
    source, target = call.tensor("input"), call.array()
    eps = call["eps"]
    if eps is None:
        eps = float(np.finfo(np.float64 if call.meta().dtype == "float64" else np.float32).eps)
    kept = len(source.shape) - len(call["normalized_shape"])
    weight = call.optional("weight")
    affine = [("*", weight.expanded(source.shape))] if weight else []
    _normalised(call, source, target, kept, affine, eps, centred=False)
    return target


def _group_norm(call: Call) -> Result:
    source, target = call.tensor("input"), call.array()
    groups = call["num_groups"]
    batch, channels, *image = source.shape
    shape = (batch, groups, channels // groups, *image)
    split, into = call.reshaped(source, shape), target.reshaped(shape)
    if into is None:
        raise call.refusal("of a view that cannot be split")
    affine = []
    for sign, name in (("*", "weight"), ("+", "bias")):
        tensor = call.optional(name)
        if tensor:
            by_channel = tensor.reshaped((1, groups, channels // groups, *[1] * len(image)))
            if by_channel:
                affine.append((sign, by_channel.expanded(shape)))
    _normalised(call, split, into, 2, affine, call["eps"], centred=True)
    return target


OPERATORS: dict[str, Emitter] = {
    "aten._native_batch_norm_legit_no_training.default": _batch_norm,
    "aten.layer_norm.default": _layer_norm,
    "aten.rms_norm.default": _rms_norm,
    "aten.group_norm.default": _group_norm,
}
