"""sin and cos of float32 over the whole range: at most 1 ulp.

The operand is multiplied by as many bits of 2/pi as its exponent asks for, so that the reduction
is exact enough for every float32.
"""

from __future__ import annotations

from allo.dialects._mlir import ir

from .bits import Emitter
from .polynomial import evaluate
from .single import NAN, ONE, fixed_to_single, take_apart
from .tables_f32 import QUARTER, TWO_OVER_PI

_SEGMENT = 23
_TURN = 88
"""Bits of the product that matter: two of the quadrant, and the fraction."""
_SMALL = 115
"""Exponent field below which sin(x) is x and cos(x) is 1."""


def expand_sin(emitter: Emitter, value: ir.Value) -> ir.Value:
    """Sine."""
    return _expand(emitter, value, cosine=False)


def expand_cos(emitter: Emitter, value: ir.Value) -> ir.Value:
    """Cosine."""
    return _expand(emitter, value, cosine=True)


def _expand(emitter: Emitter, value: ir.Value, *, cosine: bool) -> ir.Value:
    operand = take_apart(emitter, value)
    shift = (emitter.constant(304, 32) - operand.exponent).umin(255)
    window = emitter.constant(TWO_OVER_PI, 256).shr(shift.zext(256)).zext(_TURN)
    turns = (window * operand.significand.zext(_TURN)).field(_TURN - 64, 64)

    # The nearest multiple of a quarter turn, and the rest in [-1/2, 1/2) of one.
    centred = turns + (1 << 61)
    quadrant = centred.field(62, 2) + int(cosine)
    rest = centred.zext(62) ^ (1 << 61)
    swap = quadrant.zext(1)
    backwards = rest.is_("slt", 0)
    size = emitter.select(backwards, -rest, rest)
    position = size.field(35, 27).umin((1 << 26) - 1)
    index = swap.zext(4).shl(3) | position.field(_SEGMENT, 3).zext(4)
    factor = evaluate(QUARTER, index, position.zext(_SEGMENT))
    other = emitter.select(swap, emitter.constant(1 << 62, 64), rest.sext(64))
    wide = 64 + factor.width
    product = (other.sext(wide) * factor.sext(wide)).sar(QUARTER.fraction).sext(64)
    bits = fixed_to_single(product, 62)
    flip = quadrant.field(1, 1)
    if not cosine:
        flip = flip ^ operand.negative
    bits = bits ^ flip.zext(32).shl(31)
    small = emitter.constant(ONE, 32) if cosine else operand.bits
    bits = emitter.select(operand.exponent.is_("slt", _SMALL), small, bits)
    nan = emitter.constant(NAN, 32)
    return emitter.select(operand.exponent.is_("eq", 255), nan, bits).as_float("f32")
