"""The bits of a float32 operand, and results put together from bits."""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects._mlir import ir

from .bits import Bits, Emitter

ONE = 0x3F800000
INFINITY = 0x7F800000
NEGATIVE_INFINITY = 0xFF800000
NAN = 0x7FC00000
FRACTION = 23


@dataclass(frozen=True, slots=True)
class Single:
    """A float32 operand taken apart.

    Attributes:
        value: the operand itself.
        bits, magnitude: its 32 bits, and those without the sign.
        negative: its sign.
        exponent: the exponent field as ``i32``.
        fraction: the 23 fraction bits as ``i32``.
    """

    emitter: Emitter
    value: ir.Value
    bits: Bits
    magnitude: Bits
    negative: Bits
    exponent: Bits
    fraction: Bits

    @property
    def significand(self) -> Bits:
        """Fraction with the hidden bit of a normal number, ``i32``."""
        return self.fraction | (1 << FRACTION)

    @property
    def nan(self) -> Bits:
        """Whether the operand is a NaN."""
        return self.magnitude.is_("ugt", INFINITY)


def take_apart(emitter: Emitter, value: ir.Value) -> Single:
    """The parts of a float32 value."""
    bits = emitter.bits_of(value, 32)
    magnitude = bits & 0x7FFFFFFF
    return Single(
        emitter,
        value,
        bits,
        magnitude,
        bits.is_("slt", 0),
        magnitude.shr(FRACTION),
        bits & ((1 << FRACTION) - 1),
    )


def normalised(operand: Single) -> tuple[Bits, Bits]:
    """Significand with bit 23 set and its exponent field (below 1 for subnormals), ``i32``.

    Undefined for zero.
    """
    emitter = operand.emitter
    hidden = operand.exponent.is_("ne", 0).zext(32)
    significand = hidden.shl(FRACTION) | operand.fraction
    zeros = Bits(emitter, emitter.make("math.ctlz", emitter.integer(32), [significand.value]), 32)
    shift = (zeros - 8).umin(31)
    field = operand.exponent + (emitter.constant(1, 32) - hidden)
    return significand.shl(shift), field - shift


def fixed_to_single(value: Bits, fraction: int) -> Bits:
    """Bits of the float32 nearest to a signed integer over ``2**fraction``."""
    emitter = value.emitter
    kind = ir.F32Type.get(emitter.context)
    bits = emitter.bits_of(emitter.make("arith.sitofp", kind, [value.value]), 32)
    scaled = bits - (fraction << FRACTION)
    zero = emitter.constant(0, 32)
    return emitter.select(value.is_("eq", 0), zero, scaled)


def multiply(left: Bits, right: Bits) -> Bits:
    """Bits of the product of two float32 values given as bits."""
    emitter = left.emitter
    kind = ir.F32Type.get(emitter.context)
    product = emitter.make("arith.mulf", kind, [left.as_float("f32"), right.as_float("f32")])
    return emitter.bits_of(product, 32)
