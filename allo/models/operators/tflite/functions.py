"""Functions of one element that are factors and bounds, and floats at the ends of a network."""

from __future__ import annotations

from ...body import Call, Emitter, Result
from .ends import bounded, multiplied

_FURTHEST = 131072.0
"""Levels beyond it are at a bound."""


def _rescale(call: Call) -> Result:
    """A factor and bounds; negative elements may have a factor of their own."""
    source, target = call.tensor("input"), call.array()
    text = call.text
    with text.loops(target.shape, call.op.kind) as at:
        zero = call.args.get("zero_input", 0)
        element = source.at(*at)
        text.line(
            f"elem: {call.types.of_torch('int32')} = {element}" + (f" - ({zero})" if zero else "")
        )
        multiplied(call, "third", "elem")
        if "below" in call.args:
            multiplied(call, "other", "elem", "below")
            with text.block("if elem < 0:"):
                text.line("third = other")
        bounded(call, target.at(*at), "third")
    return target


def _quantize(call: Call) -> Result:
    """Halves go away from zero."""
    source, target = call.tensor("input"), call.array()
    text = call.text
    with text.loops(target.shape, "quantize") as at:
        text.line(f"scale: float32 = {call['scale']!r}")
        text.line(f"third: float32 = {source.at(*at)} / scale")
        text.line(f"third = min(max(third, {-_FURTHEST!r}), {_FURTHEST!r})")
        text.line(f"elem: {call.types.of_torch('int32')} = third")
        text.line("other: float32 = elem")
        text.line("other = third - other")
        with text.block("if other >= 0.5:"):
            text.line("elem += 1")
        with text.block("if other <= -0.5:"):
            text.line("elem -= 1")
        bounded(call, target.at(*at), "elem")
    return target


def _dequantize(call: Call) -> Result:
    source, target = call.tensor("input"), call.array()
    zero = call.args.get("zero_input", 0)
    with call.text.loops(target.shape, "dequantize") as at:
        minus = f" - ({zero})" if zero else ""
        call.text.line(f"elem: float32 = {source.at(*at)}{minus}")
        call.text.line(f"{target.at(*at)} = elem * {call['scale']!r}")
    return target


OPERATORS: dict[str, Emitter] = {
    "tflite.rescale": _rescale,
    "tflite.quantize": _quantize,
    "tflite.dequantize": _dequantize,
}
