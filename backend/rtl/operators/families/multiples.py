"""Multiples by long constants, as sums of which equal parts are computed once.

The digits of a reciprocal repeat: of 1/3 every second one is set. So the sum of two, of four and of eight
digits is another one's, too, at another place.
"""

from __future__ import annotations

from allo.dialects.sums.digits import signed_digits

from ..netlist import Signal, cat


def multiple_of(factor: Signal, constant: int) -> Signal:
    """``factor * constant`` for an unsigned factor and a positive constant, with the bits of both."""
    digits = signed_digits(constant)
    lowest = digits[0][0]
    if len(digits) == 1:
        return cat(factor.net.const(0, 1), factor, factor.net.const(0, lowest))
    # The net shares equal nodes, so that equal parts are found where they are drawn alike.
    count = 1 << (len(digits) - 1).bit_length() - 1
    high, low = (sum(d << p for p, d in part) for part in (digits[-count:], digits[:-count]))
    place = digits[-count][0]
    upper, lower = multiple_of(factor, high >> place), multiple_of(factor, abs(low) >> lowest)
    width = factor.width + constant.bit_length() - lowest
    shift = place - lowest
    if low < 0:
        total = _sized(cat(upper, factor.net.const(0, shift)), width) - _sized(lower, width)
    elif lower.width <= shift:
        total = _sized(cat(upper, lower.zext(shift)), width)
    else:
        rest = lower.bits(shift, lower.width - shift)
        bits = width - shift
        total = cat(_sized(upper, bits) + _sized(rest, bits), lower.bits(0, shift))
    return cat(total, factor.net.const(0, lowest))


def _sized(value: Signal, width: int) -> Signal:
    return value.zext(width) if value.width < width else value.bits(0, width)
