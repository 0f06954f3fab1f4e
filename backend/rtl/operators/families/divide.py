"""Integer quotients and remainders.

``x / 0`` has every bit set, ``x % 0`` is ``x``, and the smallest number divided by -1 wraps.
Unsigned division produces a quotient bit a row, without restoring; signed division works on
magnitudes and mends the signs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from ...netlist.modules import Module
from ..modules import inline_operations, stored_module
from ..netlist import Signal, cat, mux
from ..request import Builder, Drawing, Request, draw_netlist, fitted
from ..spec import Operator

type Core = Callable[[Signal, Signal], tuple[Signal, Signal]]
"""Quotient and remainder of unsigned numbers of one width."""


def divide_unsigned(a: Signal, b: Signal) -> tuple[Signal, Signal]:
    """Quotient and remainder of unsigned numbers of one width; ``b`` is not zero.

    Non-restoring: the partial remainder is signed, and a row adds or subtracts the divisor by
    its sign; a last row makes the remainder positive. Dividend and quotient share a word, from which
    a row takes a bit at the top, and to which it adds one at the bottom: a register a stage.
    """
    net, width = a.net, a.width
    word = a
    one = net.const(1, 1)
    divisor = b.zext(width + 1)
    remainder = net.const(0, width + 1)
    negative = net.const(0, 1)
    for _ in range(width):
        shifted = cat(remainder.bits(0, width), word.bit(-1))
        addend = divisor ^ (~negative).repeat(width + 1)
        remainder = (cat(shifted, one) + cat(addend, ~negative)).bits(1, width + 1)
        negative = remainder.bit(-1)
        word = cat(word.bits(0, width - 1), ~negative).kept()
    mended = remainder.bits(0, width) + (b & negative.repeat(width))
    return word, mended


def _remainder_alone(a: Signal, b: Signal) -> tuple[Signal, Signal]:
    """The same without a quotient: for users that need the dividend beside the remainder."""
    net, width = a.net, a.width
    one, divisor = net.const(1, 1), b.zext(width + 1)
    remainder, negative = net.const(0, width + 1), net.const(0, 1)
    for position in reversed(range(width)):
        shifted = cat(remainder.bits(0, width), a.bit(position))
        addend = divisor ^ (~negative).repeat(width + 1)
        remainder = (cat(shifted, one) + cat(addend, ~negative)).bits(1, width + 1)
        negative = remainder.bit(-1)
    return a, remainder.bits(0, width) + (b & negative.repeat(width))


def _by_host(a: Signal, b: Signal) -> tuple[Signal, Signal]:
    """The same as operations of the machine that simulates."""
    divisor = b | b.none().zext(b.width)
    quotient, remainder = (a.net.make(op, (a, divisor), a.width) for op in ("divu", "remu"))
    return quotient, remainder


def negated_if(condition: Signal, value: Signal) -> Signal:
    """``-value`` where the condition holds."""
    flipped = value ^ condition.repeat(value.width)
    return flipped + condition.zext(value.width)


def _signed(a: Signal, b: Signal, op: str, core: Core) -> Signal:
    sign_a, sign_b = a.bit(-1), b.bit(-1)
    dividend = negated_if(sign_a, a)
    quotient, remainder = core(dividend, negated_if(sign_b, b))
    zero = b.none()
    if op == "remsi":
        return negated_if(sign_a, mux(zero, dividend, remainder))
    differ = sign_a ^ sign_b
    value = negated_if(differ, quotient)
    width = a.width
    if op == "floordivsi":
        value = value - (differ & remainder.any()).zext(width)
    if op == "ceildivsi":
        value = value + (~differ & remainder.any()).zext(width)
    return value | zero.repeat(width)


def _unsigned(a: Signal, b: Signal, op: str, core: Core) -> Signal:
    quotient, remainder = core(a, b)
    if op == "remui":
        return mux(b.none(), a, remainder)
    if op == "ceildivui":
        quotient = quotient + remainder.any().zext(a.width)
    return quotient | b.none().repeat(a.width)


def _by_power(a: Signal, op: str, shift: int) -> Signal:
    """Division by ``2**shift``, which is positive in the type's reading."""
    width = a.width
    low = a.bits(0, shift)
    some = low.any() if shift else a.net.const(0, 1)
    high = a.bits(shift, width - shift)
    negative = a.bit(-1)
    match op:
        case "divui":
            return high.zext(width)
        case "remui":
            return low.zext(width) if shift else a.net.const(0, width)
        case "ceildivui":
            return high.zext(width) + some.zext(width)
        case "floordivsi":
            return high.sext(width)
        case "ceildivsi":
            return high.sext(width) + some.zext(width)
        case "divsi":
            return high.sext(width) + (negative & some).zext(width)
    if not shift:
        return a.net.const(0, width)
    return cat((negative & some).repeat(width - shift), low)


def _build(request: Request) -> Operator:
    op = request.op.removeprefix("arith.")
    width = request.result_width
    signed = op.endswith("si")
    constant = request.constant(1)
    if constant is not None and constant > 0 and constant.bit_count() == 1:
        shift = constant.bit_length() - 1
        if shift < width - int(signed):
            drawing = Drawing(f"{op}_i{width}_by{constant}", lambda a, b: _by_power(a, op, shift))
            return fitted(request, drawing)
    general = _signed if signed else _unsigned
    core = _remainder_alone if op.startswith("rem") else divide_unsigned

    def native(module: str, latency: int) -> Module:
        drawing = Drawing("", lambda a, b: general(a, b, op, _by_host))
        net = draw_netlist(drawing, (width, width))
        names = (f"%t{k}" for k in count())
        body, result = inline_operations(net, ("%a", "%b"), lambda: next(names))
        inputs = [("a", width), ("b", width)]
        return stored_module(module, inputs, body, result, width, latency)

    return fitted(request, Drawing(f"{op}_i{width}", lambda a, b: general(a, b, op, core), native))


_NAMES = ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
OPERATORS: dict[str, Builder] = {f"arith.{name}": _build for name in _NAMES}
