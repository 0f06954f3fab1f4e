"""Integer quotients and remainders.

``x / 0`` has every bit set, ``x % 0`` is ``x``, and the smallest number divided by -1 wraps.
Unsigned division produces a quotient bit a row, without restoring; signed division works on
magnitudes and mends the signs.
"""

from __future__ import annotations

from .netlist import Signal, cat, mux
from .request import Builder, Drawing, Request, fitted
from .spec import Operator


def divide_unsigned(a: Signal, b: Signal) -> tuple[Signal, Signal]:
    """Quotient and remainder of unsigned numbers of one width; ``b`` is not zero.

    Non-restoring: the partial remainder is signed, and a row adds or subtracts the divisor by
    its sign; a last row makes the remainder positive.
    """
    net, width = a.net, a.width
    one = net.const(1, 1)
    divisor = b.zext(width + 1)
    remainder = net.const(0, width + 1)
    negative = net.const(0, 1)
    quotient: list[Signal] = []
    for position in reversed(range(width)):
        shifted = cat(remainder.bits(0, width), a.bit(position))
        addend = divisor ^ (~negative).repeat(width + 1)
        remainder = (cat(shifted, one) + cat(addend, ~negative)).bits(1, width + 1)
        negative = remainder.bit(-1)
        quotient.append(~negative)
    mended = remainder.bits(0, width) + (b & negative.repeat(width))
    return cat(*quotient), mended


def negated_if(condition: Signal, value: Signal) -> Signal:
    """``-value`` where the condition holds."""
    flipped = value ^ condition.repeat(value.width)
    return flipped + condition.zext(value.width)


def _signed(a: Signal, b: Signal, op: str) -> Signal:
    sign_a, sign_b = a.bit(-1), b.bit(-1)
    quotient, remainder = divide_unsigned(negated_if(sign_a, a), negated_if(sign_b, b))
    zero = b.none()
    if op == "remsi":
        return mux(zero, a, negated_if(sign_a, remainder))
    differ = sign_a ^ sign_b
    value = negated_if(differ, quotient)
    width = a.width
    if op == "floordivsi":
        value = value - (differ & remainder.any()).zext(width)
    if op == "ceildivsi":
        value = value + (~differ & remainder.any()).zext(width)
    return value | zero.repeat(width)


def _unsigned(a: Signal, b: Signal, op: str) -> Signal:
    quotient, remainder = divide_unsigned(a, b)
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
    return fitted(request, Drawing(f"{op}_i{width}", lambda a, b: general(a, b, op)))


_NAMES = ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
OPERATORS: dict[str, Builder] = {f"arith.{name}": _build for name in _NAMES}
