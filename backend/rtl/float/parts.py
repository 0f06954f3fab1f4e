"""Pieces that several units share: unpacking, sticky shifts, rounding, special results."""

from __future__ import annotations

from dataclasses import dataclass

from allo.backend.rtl.operators.families.counts import leading_zeros
from allo.backend.rtl.operators.netlist import Signal, cat, mux

from .formats import FloatFormat


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Fields and classes of an operand.

    ``effective`` is the exponent with that of subnormals set to 1, ``significand`` has the
    hidden bit in front. ``flush`` says that a subnormal is a zero.
    """

    sign: Signal
    exponent: Signal
    fraction: Signal
    magnitude: Signal
    normal: Signal
    top: Signal
    empty: Signal
    flush: bool = False

    @property
    def significand(self) -> Signal:
        """Hidden bit and fraction."""
        return cat(self.normal, self.fraction)

    @property
    def effective(self) -> Signal:
        """Exponent field, 1 where it is 0."""
        low = self.exponent.bit(0) | ~self.normal
        return cat(self.exponent.bits(1, self.exponent.width - 1), low)

    @property
    def nan(self) -> Signal:
        """Whether this is a NaN."""
        return self.top & ~self.empty

    @property
    def zero(self) -> Signal:
        """Whether this is a zero of either sign."""
        return ~self.normal if self.flush else ~self.normal & self.empty


def unpack(value: Signal, kind: FloatFormat) -> Unpacked:
    """The fields of ``value``."""
    exponent = value.bits(kind.fraction, kind.exponent)
    fraction = value.bits(0, kind.fraction)
    return Unpacked(
        sign=value.bit(-1),
        exponent=exponent,
        fraction=fraction,
        magnitude=value.bits(0, kind.width - 1),
        normal=exponent.any(),
        top=exponent.all(),
        empty=fraction.none(),
        flush=kind.flush,
    )


def flushed(value: Signal, kind: FloatFormat) -> Signal:
    """``value``, or a zero of its sign where it is a subnormal that the format flushes."""
    if not kind.flush:
        return value
    normal = value.bits(kind.fraction, kind.exponent).any()
    magnitude = value.bits(0, kind.width - 1) & normal.repeat(kind.width - 1)
    return cat(value.bit(-1), magnitude)


def shift_right_sticky(value: Signal, amount: Signal, keep: int) -> Signal:
    """The low ``keep`` bits of ``value >> amount``, and below them one bit that is set when any
    bit was shifted out. What the shift leaves above those bits must be zero."""
    levels = min(amount.width, value.width.bit_length())
    sticky = value.net.const(0, 1)
    some = value.any()
    for level in reversed(range(levels)):
        distance = 1 << level
        chosen = amount.bit(level)
        sticky = sticky | (chosen & value.bits(0, min(distance, value.width)).any())
        value = mux(chosen, value.shru(distance), value)
        value = value.bits(0, min(value.width, keep + distance - 1))
    if amount.width > levels:
        far = amount.bits(levels, amount.width - levels).any()
        sticky = mux(far, some, sticky)
        value = value & (~far).repeat(value.width)
    return cat(value, sticky)


def shift_left(value: Signal, amount: Signal, limit: int | None = None) -> Signal:
    """``value << amount`` for amounts up to ``limit`` (the width by default)."""
    levels = min(amount.width, (value.width if limit is None else limit).bit_length())
    for level in reversed(range(levels)):
        value = mux(amount.bit(level), value.shl(1 << level), value)
    return value


def round_pack(
    exponent: Signal, significand: Signal, guard: Signal, rest: Signal, kind: FloatFormat
) -> Signal:
    """Exponent field and fraction, rounded to nearest, ties to even.

    Args:
        exponent: one less than the field of a significand whose hidden bit is set.
        significand: hidden bit and fraction.
        guard: the bit below; ``rest``: any bit set below that.
    """
    up = guard & (significand.bit(0) | rest)
    fraction = significand.bits(0, kind.fraction)
    hidden = significand.bit(-1).zext(kind.exponent)
    return cat(exponent, fraction) + cat(hidden, up.zext(kind.fraction))


def normal_operand(value: Unpacked, bits: int) -> tuple[Signal, Signal]:
    """Significand with its top bit set, and the exponent field it has then (``bits`` wide, signed).

    A zero's significand stays zero, but where subnormals are zeros: then it is any number.
    """
    if value.flush:
        return cat(value.sign.net.const(1, 1), value.fraction), value.exponent.zext(bits)
    zeros = (leading_zeros(value.fraction).zext(bits) + 1) & (~value.normal).repeat(bits)
    limit = value.fraction.width + 1
    return shift_left(value.significand, zeros, limit=limit), value.effective.zext(bits) - zeros


def round_product(
    body: Signal, sticky: Signal, spare: Signal, kind: FloatFormat
) -> tuple[Signal, Signal]:
    """Magnitude and overflow of ``precision + 2`` bits whose top or next bit is the first one set.

    Args:
        spare: exponent field minus one of a set top bit; where it is 0 the top bit may be clear
            and the result is subnormal.
    """
    again = ~body.bit(-1) & spare.any()
    body = mux(again, body.shl(1), body)
    exponent = spare - again.zext(spare.width)
    magnitude = round_pack(
        exponent.bits(0, kind.exponent),
        body.bits(2, kind.precision),
        body.bit(1),
        body.bit(0) | sticky,
        kind,
    )
    return magnitude, ~exponent.slt(kind.top_exponent - 1)


def round_flushed(
    exponent: Signal, fraction: Signal, guard: Signal, rest: Signal, kind: FloatFormat
) -> tuple[Signal, Signal, Signal]:
    """A significand of at least 1 rounded to nearest, ties to even.

    Returns:
        The magnitude, whether it overflows, and whether it is tiny.

    Args:
        exponent: its exponent field, signed, wide enough for one more.
        fraction: the bits behind its hidden one; ``guard`` and ``rest`` as for :func:`round_pack`.
    """
    up = guard & (fraction.bit(0) | rest)
    total = cat(exponent, fraction) + up.zext(exponent.width + kind.fraction)
    field = total.bits(kind.fraction, exponent.width)
    tiny = field.bit(-1) | field.none()
    return total.bits(0, kind.width - 1), ~field.slt(kind.top_exponent), tiny


def finish(
    sign: Signal,
    magnitude: Signal,
    kind: FloatFormat,
    *,
    zero: Signal,
    infinite: Signal,
    nan: Signal,
) -> Signal:
    """The result bits, where ``zero``, ``infinite`` and ``nan`` override the magnitude.

    At most one of ``zero`` and ``infinite | nan`` may hold; ``nan`` overrides ``infinite``.
    """
    top = infinite | nan
    kill = zero | top
    exponent = magnitude.bits(kind.fraction, kind.exponent)
    fraction = magnitude.bits(0, kind.fraction)
    exponent = (exponent & (~zero).repeat(kind.exponent)) | top.repeat(kind.exponent)
    low = fraction.bits(0, kind.fraction - 1) & (~kill).repeat(kind.fraction - 1)
    quiet = (fraction.bit(-1) & ~kill) | nan
    return cat(sign & ~nan, exponent, quiet, low)
