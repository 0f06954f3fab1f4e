"""sin and cos of float32 over the whole range: at most 1 ulp; tan: at most 2.

The operand is multiplied by as many bits of 2/pi as its exponent asks for, so that the reduction
is exact enough for every float32.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects._mlir import ir

from .bits import Bits, Emitter
from .operand import SHAPES, Operand, fixed_to_float, take_apart
from .polynomial import PolynomialTable, evaluate
from .tables import constant, table

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
    """Tangent; in odd quarter turns -1 over the tangent of the rest."""
    operand = take_apart(emitter, value)
    turn = _reduce(operand)
    segment, local = _position(turn)
    slopes = table("f32", "TANGENT")
    factor = evaluate(slopes, segment, local)
    rest = fixed_to_float(_times(turn.rest.sext(64), factor, slopes), 62, _SHAPE)
    odd = turn.quadrant.zext(1)
    kind = ir.F32Type.get(emitter.context)
    minus_one = operand.constant(_SHAPE.sign | _SHAPE.one).as_float("f32")
    inverse = emitter.make("arith.divf", kind, [minus_one, rest.as_float("f32")])
    bits = emitter.select(odd, emitter.bits_of(inverse, 32), rest)
    bits = bits ^ operand.negative.zext(32).shl(31)
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
    window = emitter.constant(constant("f32", "TWO_OVER_PI"), 256).shr(shift.zext(256)).zext(_TURN)
    turns = (window * operand.significand.zext(_TURN)).field(_TURN - 64, 64)
    centred = turns + (1 << 61)
    return _Turn(centred.field(62, 2), centred.zext(62) ^ (1 << 61))


def _position(turn: _Turn) -> tuple[Bits, Bits]:
    """Which eighth of [0, 1/2] the size of the rest lies in, and where in it."""
    emitter = turn.rest.emitter
    size = emitter.select(turn.rest.is_("slt", 0), -turn.rest, turn.rest)
    position = size.field(35, 27).umin((1 << 26) - 1)
    return position.field(_SEGMENT, 3), position.zext(_SEGMENT)


def _times(value: Bits, factor: Bits, table: PolynomialTable) -> Bits:
    wide = value.width + factor.width
    return (value.sext(wide) * factor.sext(wide)).sar(table.fraction).sext(value.width)


def _wave(turn: _Turn, cosine: Bits) -> Bits:
    """Sine of the rest, or its cosine where the bit is set, with 62 fraction bits."""
    emitter = cosine.emitter
    segment, local = _position(turn)
    waves = table("f32", "QUARTER")
    factor = evaluate(waves, cosine.zext(4).shl(3) | segment.zext(4), local)
    other = emitter.select(cosine, emitter.constant(1 << 62, 64), turn.rest.sext(64))
    return _times(other, factor, waves)


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
