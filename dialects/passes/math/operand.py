"""The bits of a float operand, and results put together from bits."""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects._mlir import ir

from .bits import Bits, Emitter


@dataclass(frozen=True, slots=True)
class Shape:
    """A float format that has expansions.

    Attributes:
        name: MLIR type; ``width`` its bits, ``fraction`` those of the stored significand.
        bias: exponent field of 1.0.
    """

    name: str
    width: int
    fraction: int
    bias: int

    @property
    def one(self) -> int:
        """Bits of 1.0."""
        return self.bias << self.fraction

    @property
    def infinity(self) -> int:
        """Bits of infinity."""
        return (2 * self.bias + 1) << self.fraction

    @property
    def nan(self) -> int:
        """Bits of the canonical NaN."""
        return self.infinity | 1 << (self.fraction - 1)

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.width - 1)


SHAPES = {"f32": Shape("f32", 32, 23, 127), "f64": Shape("f64", 64, 52, 1023)}


@dataclass(frozen=True, slots=True)
class Operand:
    """A float operand taken apart; all parts are as wide as the float.

    Attributes:
        value: the operand itself.
        bits, magnitude: its bits, and those without the sign.
        negative: its sign, one bit.
        exponent: the exponent field.
        fraction: the fraction bits.
    """

    emitter: Emitter
    shape: Shape
    value: ir.Value
    bits: Bits
    magnitude: Bits
    negative: Bits
    exponent: Bits
    fraction: Bits

    @property
    def significand(self) -> Bits:
        """Fraction with the hidden bit of a normal number."""
        return self.fraction | (1 << self.shape.fraction)

    @property
    def nan(self) -> Bits:
        """Whether the operand is a NaN."""
        return self.magnitude.is_("ugt", self.shape.infinity)

    def constant(self, value: int) -> Bits:
        """A constant as wide as the float."""
        return self.emitter.constant(value, self.shape.width)


def take_apart(emitter: Emitter, value: ir.Value) -> Operand:
    """The parts of a float32 or float64 value."""
    shape = SHAPES[str(value.type)]
    bits = emitter.bits_of(value, shape.width)
    magnitude = bits & (shape.sign - 1)
    return Operand(
        emitter,
        shape,
        value,
        bits,
        magnitude,
        bits.is_("slt", 0),
        magnitude.shr(shape.fraction),
        bits & ((1 << shape.fraction) - 1),
    )


def normalised(operand: Operand) -> tuple[Bits, Bits]:
    """Significand with the hidden bit set and its exponent field (below 1 for subnormals).

    Undefined for zero.
    """
    shape = operand.shape
    hidden = operand.exponent.is_("ne", 0).zext(shape.width)
    significand = hidden.shl(shape.fraction) | operand.fraction
    shift = (leading_zeros(significand) - (shape.width - 1 - shape.fraction)).umin(shape.width - 1)
    field = operand.exponent + (operand.constant(1) - hidden)
    return significand.shl(shift), field - shift


def leading_zeros(value: Bits) -> Bits:
    """Zeros above the highest set bit."""
    emitter = value.emitter
    made = emitter.make("math.ctlz", emitter.integer(value.width), [value.value])
    return Bits(emitter, made, value.width)


def fixed_to_float(value: Bits, fraction: int, shape: Shape) -> Bits:
    """Bits of the float nearest to a signed integer over ``2**fraction``.

    Integers wider than 64 bits are first cut to their leading 63.
    """
    emitter = value.emitter
    if value.width <= 64:
        bits = _from_integer(value, shape) - (fraction << shape.fraction)
        return emitter.select(value.is_("eq", 0), emitter.constant(0, shape.width), bits)
    negative = value.is_("slt", 0)
    size = emitter.select(negative, -value, value)
    zeros = leading_zeros(size).umin(value.width - 1)
    leading = size.shl(zeros).shr(value.width - 63).zext(64)
    scale = emitter.constant(value.width - 63 - fraction, shape.width) - zeros.zext(shape.width)
    bits = _from_integer(leading, shape) + scale.shl(shape.fraction)
    bits = bits | negative.zext(shape.width).shl(shape.width - 1)
    return emitter.select(value.is_("eq", 0), emitter.constant(0, shape.width), bits)


def _from_integer(value: Bits, shape: Shape) -> Bits:
    emitter = value.emitter
    kind = ir.Type.parse(shape.name, emitter.context)
    return emitter.bits_of(emitter.make("arith.sitofp", kind, [value.value]), shape.width)


def multiply(left: Bits, right: Bits, shape: Shape) -> Bits:
    """Bits of the product of two floats given as bits."""
    emitter = left.emitter
    kind = ir.Type.parse(shape.name, emitter.context)
    operands = [left.as_float(shape.name), right.as_float(shape.name)]
    return emitter.bits_of(emitter.make("arith.mulf", kind, operands), shape.width)
