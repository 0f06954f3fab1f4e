"""What PyTorch's own quantisation puts into exported models: quantise and dequantise.

A weight that is dequantised becomes a float weight while compiling (``exporting.py``); activations are
rounded and converted where the model says so, halves to even, as PyTorch does: the operators of PT2E
round before they add the zero point, and those of quantised tensors behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..body import Call, Emitter, Result
from ..tensors import Tensor
from .sums import ROUND_LIMIT, rounded_beside


def _of_tensor(value: Any, at: Sequence[str]) -> str:
    """A scale or a zero point: a number, or the element of a tensor."""
    return value.at(*at) if isinstance(value, Tensor) else repr(value)


def _channel(call: Call, at: Sequence[str]) -> list[str]:
    """The index of the scales; of one scale for all, none."""
    return [at[call["axis"] % len(at)]] if "axis" in call.args else []


def _parameters(call: Call) -> tuple[str, str]:
    return ("scales", "zero_points") if "scales" in call.args else ("scale", "zero_point")


def _quantize(call: Call) -> Result:
    if "quant_min" not in call.args:
        raise call.refusal(f"to {call['dtype']}", "torch.quint8 and torch.qint8 are supported.")
    bounds = (call["quant_min"], call["quant_max"])
    if max(map(abs, bounds)) > ROUND_LIMIT / 2:  # the zero point is one more
        raise call.refusal(
            f"to {bounds[0]} … {bounds[1]}", f"bounds within ±{ROUND_LIMIT / 2:.0f} are supported."
        )
    source, target = call.tensor("input"), call.array()
    names = _parameters(call)
    scale, zero = (call[name] for name in names)
    with call.text.loops(target.shape, call.op.kind) as at:
        channel = _channel(call, at)
        if isinstance(scale, Tensor):
            call.text.line(f"scale: float32 = {scale.at(*channel)}")
            value = f"{source.at(*at)} * (1.0 / scale)"
        else:
            value = f"{source.at(*at)} * {float(np.float32(1.0 / scale))!r}"
        offset = _of_tensor(zero, channel)
        if call.op.target in _OF_TENSORS:
            value, offset = f"{value} + {offset}", "0.0"
        rounded_beside(call, target.at(*at), value, bounds, offset)
    return target


def _dequantize(call: Call) -> Result:
    if call.meta().dtype != "float32":
        raise call.refusal(f"to {call.meta().dtype}", "out_dtype=torch.float32 is supported.")
    source, target = call.tensor("input"), call.array()
    names = _parameters(call)
    scale, zero = (call[name] for name in names)
    with call.text.loops(target.shape, call.op.kind) as at:
        channel = _channel(call, at)
        minus = "" if zero in (0, None) else f" - {_of_tensor(zero, channel)}"
        call.text.line(f"elem: float32 = {source.at(*at)}{minus}")
        if isinstance(scale, Tensor):
            call.text.line(f"scale: float32 = {scale.at(*channel)}")
            call.text.line(f"{target.at(*at)} = elem * scale")
        else:
            call.text.line(f"{target.at(*at)} = elem * {float(np.float32(scale))!r}")
    return target


_OF_TENSORS = ("aten.quantize_per_tensor.default", "aten.quantize_per_tensor.tensor_qparams")
OPERATORS: dict[str, Emitter] = {
    **dict.fromkeys(_OF_TENSORS, _quantize),
    "aten.dequantize.self": _dequantize,
    "quantized_decomposed.quantize_per_tensor.default": _quantize,
    "quantized_decomposed.quantize_per_tensor.tensor": _quantize,
    "quantized_decomposed.quantize_per_channel.default": _quantize,
    "quantized_decomposed.dequantize_per_tensor.default": _dequantize,
    "quantized_decomposed.dequantize_per_tensor.tensor": _dequantize,
    "quantized_decomposed.dequantize_per_channel.default": _dequantize,
}
