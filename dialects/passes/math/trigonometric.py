"""sin and cos of float32 over the whole range: at most 1 ulp; tan: at most 2.

The operand is multiplied by as many bits of 2/pi as its exponent asks for, so that the reduction
is exact enough for every float32.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects._mlir import ir

from .bits import Bits, Emitter
from .operand import SHAPES, Operand, fixed_to_float, take_apart
from .polynomial import evaluate
from .tables_f32 import QUARTER, TWO_OVER_PI

_SHAPE = SHAPES["f32"]
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


def expand_tan(emitter: Emitter, value: ir.Value) -> ir.Value:
    """Tangent: sine over cosine."""
    operand = take_apart(emitter, value)
    turn = _reduce(operand)
    zero, one = emitter.constant(0, 1), emitter.constant(1, 1)
    sine, cosine = (fixed_to_float(_wave(turn, swap), 62, _SHAPE) for swap in (zero, one))
    odd = turn.quadrant.zext(1)
    above = emitter.select(odd, cosine, sine)
    below = emitter.select(odd, sine, cosine)
    kind = ir.F32Type.get(emitter.context)
    ratio = emitter.make("arith.divf", kind, [above.as_float("f32"), below.as_float("f32")])
    flip = operand.negative ^ odd
    bits = emitter.bits_of(ratio, 32) ^ flip.zext(32).shl(31)
    return _with_ends(operand, bits, operand.bits)


@dataclass(frozen=True, slots=True)
class _Turn:
    """|x| as the nearest multiple of a quarter turn and the rest, in [-1/2, 1/2) of one, with 62
    fraction bits."""

    quadrant: Bits
    rest: Bits


def _reduce(operand: Operand) -> _Turn:
    emitter = operand.emitter
    shift = (emitter.constant(304, 32) - operand.exponent).umin(255)
    window = emitter.constant(TWO_OVER_PI, 256).shr(shift.zext(256)).zext(_TURN)
    turns = (window * operand.significand.zext(_TURN)).field(_TURN - 64, 64)
    centred = turns + (1 << 61)
    return _Turn(centred.field(62, 2), centred.zext(62) ^ (1 << 61))


def _wave(turn: _Turn, cosine: Bits) -> Bits:
    """Sine of the rest, or its cosine where the bit is set, with 62 fraction bits."""
    emitter = cosine.emitter
    size = emitter.select(turn.rest.is_("slt", 0), -turn.rest, turn.rest)
    position = size.field(35, 27).umin((1 << 26) - 1)
    index = cosine.zext(4).shl(3) | position.field(_SEGMENT, 3).zext(4)
    factor = evaluate(QUARTER, index, position.zext(_SEGMENT))
    other = emitter.select(cosine, emitter.constant(1 << 62, 64), turn.rest.sext(64))
    wide = 64 + factor.width
    return (other.sext(wide) * factor.sext(wide)).sar(QUARTER.fraction).sext(64)


def _expand(emitter: Emitter, value: ir.Value, *, cosine: bool) -> ir.Value:
    operand = take_apart(emitter, value)
    turn = _reduce(operand)
    quadrant = turn.quadrant + int(cosine)
    bits = fixed_to_float(_wave(turn, quadrant.zext(1)), 62, _SHAPE)
    flip = quadrant.field(1, 1)
    if not cosine:
        flip = flip ^ operand.negative
    bits = bits ^ flip.zext(32).shl(31)
    return _with_ends(operand, bits, emitter.constant(_SHAPE.one, 32) if cosine else operand.bits)


def _with_ends(operand: Operand, bits: Bits, small: Bits) -> ir.Value:
    """The result, ``small`` near zero, and NaN where the operand is infinite or NaN."""
    emitter = operand.emitter
    bits = emitter.select(operand.exponent.is_("slt", _SMALL), small, bits)
    nan = emitter.constant(_SHAPE.nan, 32)
    return emitter.select(operand.exponent.is_("eq", 255), nan, bits).as_float("f32")
