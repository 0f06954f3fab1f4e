"""Functions of int16 by lines between the places of tables."""

from __future__ import annotations

from ...body import Call, Emitter, Result
from ...tensors import Tensor
from .ends import HIGH, multiplied

_LEADING = 17
"""Zeros before a sum of powers at most: the greatest element alone adds nearly 2 ** 15."""


def _sigmoid(call: Call) -> Result:
    """Of the input's magnitude, on a scale that is its table's; the other half by symmetry."""
    source, table, target = call.tensor("input"), call.tensor("table"), call.array()
    text, short = call.text, call.types.of_torch("int32")
    logistic = call.op.kind == "logistic_16"
    digits = 9 if logistic else 8
    most = 0x7FFF << 10 if logistic else 0xFFFF << 8
    with text.loops(target.shape, call.op.kind) as at:
        shift = call["shift"]
        text.line(
            f"elem: {short} = ({source.at(*at)} * {call['factor']} + {(1 << shift) >> 1}) >> {shift}"
        )
        text.line(f"other: {short} = max(elem, 0 - elem)")
        text.line(f"at: {short} = min(other >> {digits}, 254)")
        near, far = table.at("at"), table.at("at + 1")
        text.line(
            f"third: {short} = {near} * {1 << digits} + (other & {(1 << digits) - 1}) * ({far} - {near})"
        )
        with text.block(f"if (other >> {digits}) >= 255:"):
            text.line(f"third = {most}")
        if logistic:
            signs = ("third + 512", f"{1 << 25} - third + 511", 10)
        else:
            signs = (f"third - {1 << 23} + 128", f"{1 << 23} - third + 127", 8)
        with text.block("if elem >= 0:"):
            text.line(f"third = {signs[0]}")
        with text.block("else:"):
            text.line(f"third = {signs[1]}")
        text.line(f"{target.at(*at)} = third >> {signs[2]}")
    return target


def _line(table: Tensor, value: str) -> str:
    """The line between two places of a table, at an expression of 16 bits in an int32."""
    near, far = table.at(f"256 + ({value} >> 7)"), table.at(f"257 + ({value} >> 7)")
    return f"{near} + ((({far} - {near}) * ({value} & 127) + 64) >> 7)"


def _softmax(call: Call) -> Result:
    source, target, text = call.tensor("input"), call.array(), call.text
    powers, shares = call.tensor("powers"), call.tensor("reciprocals")
    short, wide = call.types.of_torch("int32"), call.types.of_torch("int64")
    *outer, depth = target.shape
    kept = text.array("kept", (depth,), call.types.of_torch("int16"))
    with text.loops(outer or (1,), "softmax") as rows:
        at = rows if outer else ()
        text.line(f"best: {call.types.of_torch('int16')} = -32768")
        with text.loops((depth,), "softmax_max", prefix="k") as (k,):
            text.line(f"best = max(best, {source.at(*at, k)})")
        with text.loops((depth,), "softmax_powers", prefix="j") as (k,):
            text.line(f"elem: {short} = {source.at(*at, k)} - best")
            multiplied(call, "third", "elem")
            text.line("third = min(max(third + 32767, -32768), 32767)")
            text.line(f"{kept.at(k)} = {_line(powers, 'third')}")
        text.line(f"total: {short} = 0")
        with text.loops((depth,), "softmax_sum", prefix="r", reduction=True) as (k,):
            text.line(f"total += {kept.at(k)}")
        text.line(f"count: {short} = 0")
        text.line(f"wide: {wide} = total")
        with text.loops((_LEADING,), "softmax_shift", prefix="k"):
            text.line(f"other: {short} = 1 if wide < {1 << HIGH} else 0")
            text.line("wide = wide << other")
            text.line("count += other")
        text.line(f"acc: {short} = ((wide >> 1) + {1 << 13}) >> 14")
        text.line(f"acc = min(max(acc - {(1 << 15) + (1 << 16)}, -32768), 32767)")
        text.line(f"acc = {_line(shares, 'acc')}")
        text.line(f"at: {short} = {HIGH - 1} - count")
        with text.loops((depth,), "softmax_back", prefix="o") as (k,):
            text.line(f"wide = {kept.at(k)} * acc")
            text.line("wide = ((wide >> at) + 1) >> 1")
            text.line(f"{target.at(*at, k)} = min(max(wide, 0), 32767)")
    return target


OPERATORS: dict[str, Emitter] = {
    "tflite.logistic_16": _sigmoid,
    "tflite.tanh_16": _sigmoid,
    "tflite.softmax_16": _softmax,
}
