"""Products by negative powers of two, in place: the exponent grows less, or the result is subnormal."""

from __future__ import annotations

from allo.backend.rtl.operators.netlist import Signal, cat, mux

from ..formats import FloatFormat
from ..parts import Unpacked, shift_right_sticky, unpack
from .reciprocal import Constant

TABLES_OF_TABLES = 16
"""Bits that two levels of tables with four inputs take."""


def is_small_power(by: Constant, kind: FloatFormat) -> bool:
    """Whether a constant is a power of two below 1 that leaves some subnormal number one."""
    return by.odd == 1 and -kind.fraction <= by.exponent < 0


def multiply_by_power(
    a: Signal, by: Constant, kind: FloatFormat, *, canonical: bool = True
) -> Signal:
    """``a * by``, the bits of the multiplication; :func:`is_small_power` of ``by``.

    ``canonical``: a NaN is the canonical one. An operation that takes any NaN needs none.
    """
    net, places = a.net, -by.exponent
    if places == 1 and not (canonical or kind.flush):
        half = _halved(a, kind)
        return cat(~a.bit(-1), half) if by.negative else cat(a.bit(-1), half)
    value = unpack(a, kind)
    field = value.exponent - places
    small = value.exponent.ult(places + 1)
    magnitude = cat(field, value.fraction)
    if kind.flush:
        magnitude = magnitude & (~small).repeat(kind.width - 1)
    else:
        magnitude = mux(small, _subnormal(value, places), magnitude)
    nan = value.top & net.const(0, kind.fraction).ult(value.fraction)
    rest = magnitude.bits(0, kind.fraction) & (~value.top).repeat(kind.fraction)
    sign = ~value.sign if by.negative else value.sign
    return cat(
        sign & ~nan,
        mux(value.top, net.const(-1, kind.exponent), magnitude.bits(kind.fraction, kind.exponent)),
        rest.bit(-1) | nan,
        rest.bits(0, kind.fraction - 1),
    )


def _subnormal(value: Unpacked, places: int) -> Signal:
    """The magnitude where the exponent is ``places`` at most, rounded to nearest, ties to even."""
    exponent = value.exponent.bits(0, places.bit_length())
    normal = exponent.any()
    significand = cat(normal, value.fraction)
    net, width = significand.net, significand.width
    guarded, rest = significand, net.const(0, 1)
    if places > 1:
        low = exponent.bit(0) | ~normal
        amount = net.const(places, exponent.width) - cat(exponent.bits(1, exponent.width - 1), low)
        shifted = shift_right_sticky(significand, amount, width)
        guarded, rest = shifted.bits(1, width), shifted.bit(0)
    kept = guarded.bits(1, width - 1)
    up = guarded.bit(0) & (kept.bit(0) | rest)
    return (kept.zext(width) + up.zext(width)).zext(value.magnitude.width)


def _halved(a: Signal, kind: FloatFormat) -> Signal:
    """The magnitude of a half, in few levels of logic: no carry chain, and each bit by itself."""
    value = unpack(a, kind)
    exponent, fraction = value.exponent, value.fraction
    small = exponent.bits(1, kind.exponent - 1).none()
    # Of a number below twice the smallest normal one: twice its half, rounded up where both low bits are set.
    twice = cat(exponent.bit(0), fraction)
    halves = []
    for place in range(kind.fraction):
        below = max(2, place + 1)
        low = min(TABLES_OF_TABLES, below)
        carry = twice.bits(0, low).all()
        if below > low:
            carry = carry & twice.bits(low, below - low).all()
        halves.append(mux(small, twice.bit(place + 1) ^ carry, fraction.bit(place)))
    smallest = value.magnitude.eq((2 << kind.fraction) - 1)
    field = [mux(exponent.bit(0), value.top | smallest, ~small)]
    for place in range(1, kind.exponent):
        borrows = exponent.bits(0, place).none()
        more = kind.exponent - place - 1
        other = exponent.bits(place + 1, more).any() if more else a.net.const(0, 1)
        field.append(mux(exponent.bit(place), ~borrows, borrows & other))
    return cat(*reversed([*halves, *field]))
