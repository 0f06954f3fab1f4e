"""exp and exp2 in integers alone: at most 1 ulp, subnormal results included."""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects._mlir import ir

from .bits import Bits, Emitter
from .operand import Operand, Shape, take_apart
from .polynomial import PolynomialTable, evaluate
from .tables import constant, table


@dataclass(frozen=True, slots=True)
class Power:
    """How a format computes ``2**t``.

    Attributes:
        kind: name of the format.
        position: fraction bits of t.
        segments: bits of t that choose the polynomial.
        log_fraction: fraction bits of ``log2_of_e``.
        top: largest exponent field of an operand of exp that need not overflow.
    """

    kind: str
    position: int
    segments: int
    log_fraction: int
    top: int

    @property
    def table(self) -> PolynomialTable:
        """``2**f`` for f in [0, 1)."""
        return table(self.kind, "EXP2")

    @property
    def log2_of_e(self) -> int:
        """The base 2 logarithm of e in fixed point."""
        return constant(self.kind, "LOG2_OF_E")


POWERS = {
    "f32": Power("f32", 27, 4, 33, 133),
    "f64": Power("f64", 59, 5, 68, 1032),
}


def expand_exp(emitter: Emitter, value: ir.Value) -> ir.Value:
    """``e ** x`` as ``2 ** (x log2 e)``; two products, so that float32 stays below 64 bits."""
    operand = take_apart(emitter, value)
    power = POWERS[operand.shape.name]
    size = _fixed(operand, power, power.top)
    half = power.log_fraction // 2
    wide = size.width + power.log_fraction - half + 2
    size = size.zext(wide)
    high, low = divmod(power.log2_of_e, 1 << half)
    product = size * high + (size * low).shr(half)
    return _finish(operand, product.shr(power.log_fraction - half), power.top)


def expand_exp2(emitter: Emitter, value: ir.Value) -> ir.Value:
    """``2 ** x``."""
    operand = take_apart(emitter, value)
    power = POWERS[operand.shape.name]
    return _finish(operand, _fixed(operand, power, power.top + 1), power.top + 1)


def power_width(shape: Shape) -> int:
    """Bits of the exponent that :func:`power_of_two` takes."""
    return POWERS[shape.name].position + shape.width - shape.fraction + 1


def _fixed(operand: Operand, power: Power, top: int) -> Bits:
    """|x| with ``position`` fraction bits, for exponent fields up to ``top``."""
    shape = operand.shape
    left = top + power.position - shape.bias - shape.fraction
    width = shape.fraction + 1 + left + 1
    amount = (operand.constant(top) - operand.exponent).umin(width - 1)
    return operand.significand.zext(width).shl(left).shr(amount.zext(width))


def _finish(operand: Operand, size: Bits, top: int) -> ir.Value:
    emitter, shape = operand.emitter, operand.shape
    exponent = size.zext(power_width(shape))
    signed = emitter.select(operand.negative, -exponent, exponent)
    bits, overflow = power_of_two(signed, shape)
    limit = emitter.select(operand.negative, operand.constant(0), operand.constant(shape.infinity))
    limit = emitter.select(operand.nan, operand.constant(shape.nan), limit)
    outside = overflow | operand.exponent.is_("sgt", top)
    return emitter.select(outside, limit, bits).as_float(shape.name)


def power_of_two(exponent: Bits, shape: Shape) -> tuple[Bits, Bits]:
    """Bits of ``2 ** exponent`` and whether it overflows.

    Args:
        exponent: signed, with the fraction bits of the format's :class:`Power`, in
            ``power_width(shape)`` bits.
    """
    power = POWERS[shape.name]
    whole = exponent.sar(power.position).sext(shape.width)
    part = exponent.zext(power.position)
    rest = power.position - power.segments
    mantissa = evaluate(power.table, part.field(rest, power.segments), part.zext(rest))

    # Below the normal range the mantissa moves right under an exponent field that stays 0.
    field = whole + (shape.bias - 1)
    down = (-field).smax(0).umin(shape.width - 1)
    spare = power.table.fraction - shape.fraction
    rounded = (mantissa.sext(shape.width).shr(down) + (1 << spare - 1)).shr(spare)
    bits = field.smax(0).shl(shape.fraction) + rounded
    return bits, field.is_("sge", 2 * shape.bias)
