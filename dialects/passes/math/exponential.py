"""exp and exp2 of float32, in integers alone: at most 1 ulp, subnormal results included."""

from __future__ import annotations

from allo.dialects._mlir import ir

from .bits import Bits, Emitter
from .polynomial import evaluate
from .single import FRACTION, INFINITY, NAN, Single, take_apart
from .tables_f32 import EXP2, LOG2_OF_E

POSITION = 27
"""Fraction bits of the exponent of two."""


def expand_exp(emitter: Emitter, value: ir.Value) -> ir.Value:
    """``e ** x`` as ``2 ** (x log2 e)``."""
    operand = take_apart(emitter, value)
    size = _fixed(operand, 133)
    product = size.zext(70) * LOG2_OF_E
    power = product.shr(33).zext(37)
    return _finish(operand, power, 133).as_float("f32")


def expand_exp2(emitter: Emitter, value: ir.Value) -> ir.Value:
    """``2 ** x``."""
    operand = take_apart(emitter, value)
    return _finish(operand, _fixed(operand, 134).zext(37), 134).as_float("f32")


def _fixed(operand: Single, top: int) -> Bits:
    """|x| with ``POSITION`` fraction bits, for exponent fields up to ``top``."""
    left = top + POSITION - 150
    width = FRACTION + 1 + left + 1
    amount = (operand.emitter.constant(top, 32) - operand.exponent).umin(width - 1)
    return operand.significand.zext(width).shl(left).shr(amount.zext(width))


def _finish(operand: Single, power: Bits, top: int) -> Bits:
    emitter = operand.emitter
    signed = emitter.select(operand.negative, -power, power)
    bits, overflow = power_of_two(signed)
    zero, infinity = emitter.constant(0, 32), emitter.constant(INFINITY, 32)
    limit = emitter.select(operand.negative, zero, infinity)
    limit = emitter.select(operand.nan, emitter.constant(NAN, 32), limit)
    outside = overflow | operand.exponent.is_("sgt", top)
    return emitter.select(outside, limit, bits)


def power_of_two(power: Bits) -> tuple[Bits, Bits]:
    """Bits of ``2 ** power`` and whether it overflows.

    Args:
        power: signed, ``POSITION`` fraction bits, at least -2**9.
    """
    whole = power.sar(POSITION).sext(32)
    part = power.zext(POSITION)
    segment = POSITION - 4
    mantissa = evaluate(EXP2, part.field(segment, 4), part.zext(segment)).sext(32)

    # Below the normal range the mantissa moves right under an exponent field that stays 0.
    field = whole + 126
    down = (-field).smax(0).umin(31)
    rounded = (mantissa.shr(down) + (1 << EXP2.fraction - FRACTION - 1)).shr(
        EXP2.fraction - FRACTION
    )
    bits = field.smax(0).shl(FRACTION) + rounded
    return bits, field.is_("sge", 254)
