"""Square root: a bit of the root a row, without restoring, correctly rounded."""

from __future__ import annotations

from allo.backend.rtl.operators.netlist import Signal, cat, mux

from .divide import sums_to_zero
from .formats import FloatFormat
from .parts import finish, normal_operand, round_pack, unpack


def square_root(a: Signal, kind: FloatFormat) -> Signal:
    """The square root; that of -0 is -0, that of other negative numbers NaN."""
    net, precision = a.net, kind.precision
    value = unpack(a, kind)
    bits = kind.exponent + 2
    significand, exponent = normal_operand(value, bits)

    # With an even power of two taken out, the significand lies in [1, 4).
    odd = ~exponent.bit(0) if kind.bias & 1 else exponent.bit(0)
    single, double = cat(net.const(0, 1), significand), cat(significand, net.const(0, 1))
    scaled = mux(odd, double, single)
    radicand = cat(scaled, net.const(0, precision + 1))
    root, inexact = _root(radicand, precision + 1)
    half = (exponent + (kind.bias - 2)).bits(1, kind.exponent)
    magnitude = round_pack(half, root.bits(1, precision), root.bit(0), inexact, kind)

    negative = value.sign & ~value.zero
    return finish(
        value.sign,
        magnitude,
        kind,
        zero=value.zero,
        infinite=value.top,
        nan=value.nan | negative,
    )


def _root(radicand: Signal, count: int) -> tuple[Signal, Signal]:
    """Integer square root of ``2 * count`` bits, and whether it is inexact."""
    net = radicand.net
    remainder, root = net.const(0, 2), net.const(0, 0)
    negative = net.const(0, 1)
    for row in range(count):
        width = row + 3
        pair = radicand.bits(2 * (count - 1 - row), 2)
        grown = cat(remainder.sext(width).bits(0, width - 2), pair)
        # 4 R + pair - (4 Q + 1), or + (4 Q + 3) after a negative remainder
        addend = cat(root, negative, net.const(1, 1)).zext(width)
        total = cat(grown, net.const(1, 1)) + cat(addend ^ (~negative).repeat(width), ~negative)
        remainder = total.bits(1, width)
        negative = remainder.bit(-1)
        root = cat(root, ~negative)
    width = remainder.width
    double = cat(root, net.const(1, 1)).zext(width)
    return root, mux(negative, ~sums_to_zero(remainder, double), remainder.any())
