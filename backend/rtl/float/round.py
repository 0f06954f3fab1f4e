"""Rounding to an integer, as a float: floor, ceil, trunc, round (ties away), roundeven."""

from __future__ import annotations

from allo.backend.rtl.operators.netlist import Signal, cat, mux

from .formats import FloatFormat
from .parts import Unpacked, unpack

MODES = ("floor", "ceil", "trunc", "round", "roundeven")


def round_to_integral(a: Signal, kind: FloatFormat, mode: str) -> Signal:
    """``a`` rounded to an integer in the way ``mode`` says; zeros keep their sign."""
    net, fraction = a.net, kind.fraction
    value = unpack(a, kind)
    power = value.exponent - kind.bias
    below_one = value.exponent.ult(kind.bias)

    # Bits that are worth less than 1, and the bit worth 1, of a number of at least 1.
    low = _shifted_ones(power, fraction)
    unit = cat(low, net.const(1, 1)) ^ cat(net.const(0, 1), low)
    half = unit.bits(1, fraction)
    odd = (cat(net.const(1, 1), value.fraction) & unit).any()
    inexact = (value.fraction & low).any()
    at_half = (value.fraction & half).any()
    rest = (value.fraction & low & ~half).any()
    up = _up(value, mode, inexact, at_half, rest, odd)
    step = unit.zext(kind.width - 1) & up.repeat(kind.width - 1)
    whole = (value.magnitude + step) & ~low.zext(kind.width - 1)

    exact = ~value.exponent.ult(kind.bias + fraction)
    small = net.const(kind.bias << fraction, kind.width - 1)
    small = small & _small_up(value, mode, kind).repeat(kind.width - 1)
    magnitude = mux(exact, value.magnitude, mux(below_one, small, whole))
    nan = net.const(kind.nan, kind.width)
    return mux(value.nan, nan, cat(value.sign, magnitude))


def _shifted_ones(power: Signal, width: int) -> Signal:
    """``width`` ones shifted right by ``power``, for powers below the width."""
    ones = power.net.const(-1, width)
    for level in range((width - 1).bit_length()):
        ones = mux(power.bit(level), ones.shru(1 << level), ones)
    return ones


def _up(
    value: Unpacked, mode: str, inexact: Signal, at_half: Signal, rest: Signal, odd: Signal
) -> Signal:
    """Whether the magnitude of a number of at least 1 grows."""
    return _grows(value.sign, mode, inexact, at_half, rest | odd)


def _small_up(value: Unpacked, mode: str, kind: FloatFormat) -> Signal:
    """Whether a number below 1 becomes 1."""
    from_half = value.exponent.eq(kind.bias - 1)
    return _grows(value.sign, mode, ~value.zero, from_half, ~value.empty)


def _grows(negative: Signal, mode: str, inexact: Signal, from_half: Signal, past: Signal) -> Signal:
    """Whether rounding takes a magnitude up; ``past`` tells its half from a tie that stays even."""
    match mode:
        case "floor":
            return negative & inexact
        case "ceil":
            return ~negative & inexact
        case "round":
            return from_half
        case "roundeven":
            return from_half & past
    return negative.net.const(0, 1)
