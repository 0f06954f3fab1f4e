"""x ** y of float32, with the special cases of C99: at most 1 ulp.

``2 ** (y log2 |x|)``, the logarithm with 66 fraction bits, so that the exponent keeps 27.
"""

from __future__ import annotations

from allo.dialects._mlir import ir

from .bits import Bits, Emitter
from .exponential import POWERS, power_of_two, power_width
from .logarithm import Base, fixed_log
from .operand import SHAPES, Operand, take_apart
from .tables import table

_SHAPE = SHAPES["f32"]
_LARGEST_FIELD = 189
"""Exponent field of y above which any x but 1 gives zero or infinity."""


def expand_powf(emitter: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    """``x ** y``."""
    base, exponent = take_apart(emitter, x), take_apart(emitter, y)
    bits, overflow = power_of_two(_scaled_log(base, exponent), _SHAPE)
    one = emitter.constant(_SHAPE.one, 32)
    infinity, zero = emitter.constant(_SHAPE.infinity, 32), emitter.constant(0, 32)

    unit = base.magnitude.is_("eq", _SHAPE.one)
    grows = base.magnitude.is_("ugt", _SHAPE.one) ^ exponent.negative
    end = (base.magnitude - 1).is_("uge", _SHAPE.infinity - 1)
    end = (end | exponent.exponent.is_("sgt", _LARGEST_FIELD)) & (unit ^ 1)
    bits = emitter.select(end | overflow, emitter.select(grows, infinity, zero), bits)

    whole, odd = _integer(exponent)
    sign = (base.negative & odd).zext(32).shl(31)
    imaginary = base.negative & (whole ^ 1) & (base.magnitude - 1).is_("ult", _SHAPE.infinity - 1)
    nan = base.nan | exponent.nan | imaginary
    bits = emitter.select(nan, emitter.constant(_SHAPE.nan, 32), bits | sign)
    always = exponent.magnitude.is_("eq", 0) | base.bits.is_("eq", _SHAPE.one)
    return emitter.select(always, one, bits).as_float("f32")


def _scaled_log(base: Operand, exponent: Operand) -> Bits:
    """``y log2 |x|``, signed, 27 fraction bits, limited to +-2**9."""
    emitter = base.emitter
    polynomials = table("f32", "LOG2_WIDE")
    fraction = polynomials.fraction + 24
    width = fraction + 9
    log = fixed_log(base, Base(polynomials, 1 << fraction), width)
    below = log.is_("slt", 0)
    size = emitter.select(below, -log, log)
    wide = width + 24
    product = size.zext(wide) * exponent.significand.zext(24).zext(wide)
    down = (emitter.constant(_LARGEST_FIELD, 32) - exponent.exponent).umin(wide - 1)
    limit = (1 << POWERS["f32"].position + 9) - 1
    power = product.shr(down.zext(wide)).umin(limit).zext(power_width(_SHAPE))
    return emitter.select(below ^ exponent.negative, -power, power)


def _integer(exponent: Operand) -> tuple[Bits, Bits]:
    """Whether y is an integer (infinity is an even one), and an odd one."""
    emitter = exponent.emitter
    made = emitter.make("math.cttz", emitter.integer(32), [exponent.significand.value])
    unit = exponent.exponent + Bits(emitter, made, 32)
    return unit.is_("sge", 150), unit.is_("eq", 150)
