"""Sums, differences and products of two activations."""

from __future__ import annotations

from ...body import Call, Emitter, Result
from .ends import finish, less_zero, multiplied


def _sum(call: Call) -> Result:
    """Both operands are shifted to the left and brought to one scale before they are added."""
    target = call.array()
    operands = [call.tensor(name).expanded(target.shape) for name in ("self", "other")]
    factor = 1 << call["shift"]
    with call.text.loops(target.shape, call.op.kind) as at:
        for name, source, zero, word in (
            ("elem", operands[0], call["zero_left"], "first"),
            ("other", operands[1], call["zero_right"], "second"),
        ):
            element = f"({source.at(*at)} - ({zero}))" if zero else source.at(*at)
            multiplied(call, name, f"{element} * {factor}", word)
        sign = "+" if call["sign"] > 0 else "-"
        call.text.line(f"acc: {call.types.of_torch('int32')} = elem {sign} other")
        finish(call, target.at(*at), "acc")
    return target


def _mul(call: Call) -> Result:
    target = call.array()
    left, right = (call.tensor(name).expanded(target.shape) for name in ("self", "other"))
    with call.text.loops(target.shape, "mul") as at:
        first = less_zero(call, "elem", left.at(*at), "zero_left")
        second = less_zero(call, "other", right.at(*at), "zero_right")
        finish(call, target.at(*at), f"{first} * {second}")
    return target


OPERATORS: dict[str, Emitter] = {"tflite.add": _sum, "tflite.sub": _sum, "tflite.mul": _mul}
