"""Softmax of int8: exponentials from a table, and the reciprocal of their sum by Newton's method."""

from __future__ import annotations

from ...body import Call, Emitter, Result
from .ends import HIGH, NUDGE

_DIGITS = 12
"""Bits before the point of a sum of exponentials."""
_FIRST, _SLOPE = 1515870810, 1010580540
"""48/17 and 32/17 with two bits before the point: the line that Newton's method starts on."""
_ONE = 1 << 29
"""1 with two bits before the point."""


def _product(left: str, right: str) -> str:
    return f"(({left}) * ({right}) + {NUDGE}) >> {HIGH}"


def _softmax(call: Call) -> Result:
    source, table, target = call.tensor("input"), call.tensor("table"), call.array()
    text = call.text
    short, wide = call.types.of_torch("int32"), call.types.of_torch("int64")
    *outer, depth = target.shape
    with text.loops(outer or (1,), "softmax") as rows:
        at = rows if outer else ()
        text.line(f"best: {call.types.of_torch('int8')} = -128")
        with text.loops((depth,), "softmax_max", prefix="k") as (k,):
            text.line(f"best = max(best, {source.at(*at, k)})")
        text.line(f"total: {short} = 0")
        with text.loops((depth,), "softmax_sum", prefix="r", reduction=True) as (k,):
            value = table.at(f"best - {source.at(*at, k)}")
            text.line(f"total += ({value} + {1 << (_DIGITS - 1)}) >> {_DIGITS}")
        # The sum as 1 + x, x of 0 … 1, and the bits that it was shifted by to the left.
        text.line(f"count: {short} = 0")
        text.line(f"wide: {wide} = total")
        # The greatest element alone adds 2 ** 19, so that 12 steps are enough.
        with text.loops((_DIGITS,), "softmax_shift", prefix="k"):
            text.line(f"other: {short} = 1 if wide < {1 << HIGH} else 0")
            text.line("wide = wide << other")
            text.line("count += other")
        text.line(f"acc: {short} = wide >> 1")  # (1 + x) / 2
        # The upper half of a negative product: halves go up.
        text.line(f"third: {short} = {_FIRST} - ((acc * {_SLOPE} + {NUDGE - 1}) >> {HIGH})")
        with text.loops((3,), "softmax_newton", prefix="j"):
            text.line(f"elem: {short} = {_product('acc', 'third')}")
            text.line(f"elem = {_ONE} - elem")
            text.line(f"elem = {_product('third', 'elem')}")
            text.line("third = third + elem * 4")
        text.line(f"third = min(third * 2, {(1 << HIGH) - 1})")
        text.line(f"at: {short} = {_DIGITS + HIGH - 9} - count")
        with text.loops((depth,), "softmax_back", prefix="o") as (k,):
            value = table.at(f"best - {source.at(*at, k)}")
            text.line(f"wide = {_product('third', value)}")
            text.line("wide = ((wide >> at) + 1) >> 1")
            text.line(f"{target.at(*at, k)} = min(wide - 128, 127)")
    return target


OPERATORS: dict[str, Emitter] = {"tflite.softmax": _softmax}
