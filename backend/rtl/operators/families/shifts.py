"""Shifts. An amount of the width or more leaves zeros, or sign bits."""

from __future__ import annotations

from ..netlist import Signal, mux
from ..request import Builder, Drawing, Request, combinational, fitted
from ..spec import Operator


def _left(a: Signal, amount: Signal | int) -> Signal:
    return a.shl(amount)


def _right(a: Signal, amount: Signal | int) -> Signal:
    return a.shru(amount)


def _right_signed(a: Signal, amount: Signal | int) -> Signal:
    if isinstance(amount, Signal):
        return a.shrs(amount)
    low = min(amount, a.width - 1)
    return a.bits(low, a.width - low).sext(a.width)


_DRAW = {"arith.shli": _left, "arith.shrui": _right, "arith.shrsi": _right_signed}


def _barrel(op: str, a: Signal, amount: Signal) -> Signal:
    """The same from multiplexers, which registers can part."""
    levels = (a.width - 1).bit_length()
    fill = a.bit(-1) if op == "arith.shrsi" else a.net.const(0, 1)
    for level in range(levels):
        moved = _DRAW[op](a, 1 << level)
        a = mux(amount.bit(level), moved, a)
    too_far = ~amount.ult(a.width)
    return mux(too_far, fill.repeat(a.width), a)


def _table(request: Request, words: int) -> Operator:
    """The low bits of a constant shifted by a word of few bits: a lookup table for each."""
    (size, _), width = request.widths, request.result_width

    def draw(a: Signal, place: Signal) -> Signal:
        return a.net.const(words, size).shru(place.zext(size)).bits(0, width)

    return combinational(request, Drawing(f"table_{size}x{width}_{words:x}", draw))


def _build(request: Request) -> Operator:
    width, shift = request.result_width, _DRAW[request.op]
    name = request.op.removeprefix("arith.")
    words = request.constant(0)
    if words is not None and request.op == "arith.shrui" and request.widths[1] < request.widths[0]:
        return _table(request, words)
    constant = request.constant(1)
    if constant is None:
        found = fitted(request, Drawing(f"{name}_i{width}", shift))
        if found.latency == 0:
            return found
        return fitted(request, Drawing(f"{name}_i{width}", lambda a, b: _barrel(request.op, a, b)))
    amount = min(constant % (1 << width), width)
    return fitted(request, Drawing(f"{name}_i{width}_by{amount}", lambda a, b: shift(a, amount)))


OPERATORS: dict[str, Builder] = dict.fromkeys(_DRAW, _build)
