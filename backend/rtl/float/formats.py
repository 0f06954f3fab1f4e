"""Binary floating-point formats: sign, exponent, fraction, as IEEE 754 lays them out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A format with infinities, NaN and subnormals.

    Attributes:
        name: MLIR type name where there is one.
        exponent: bits of the exponent, at least 3.
        fraction: stored bits of the significand, at least 2.
        flush: whether subnormal operands count as zeros of their signs, and results that would be
            subnormal are. It is decided after rounding as if the exponent had no least value.
    """

    name: str
    exponent: int
    fraction: int
    flush: bool = False

    @property
    def label(self) -> str:
        """The name in those of units."""
        return f"{self.name}_ftz" if self.flush else self.name

    @property
    def width(self) -> int:
        """Bits of a value."""
        return 1 + self.exponent + self.fraction

    @property
    def precision(self) -> int:
        """Bits of the significand, the hidden one included."""
        return self.fraction + 1

    @property
    def bias(self) -> int:
        """Exponent field of 1.0."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def top_exponent(self) -> int:
        """Exponent field of infinity and NaN."""
        return (1 << self.exponent) - 1

    @property
    def infinity(self) -> int:
        """Bits of positive infinity."""
        return self.top_exponent << self.fraction

    @property
    def nan(self) -> int:
        """Bits of the canonical NaN: positive, quiet, no payload."""
        return self.infinity | 1 << (self.fraction - 1)

    @property
    def largest(self) -> int:
        """Bits of the largest finite number."""
        return self.infinity - 1


FORMATS: dict[str, FloatFormat] = {
    kind.name: kind
    for kind in (
        FloatFormat("f16", 5, 10),
        FloatFormat("bf16", 8, 7),
        FloatFormat("tf32", 8, 10),
        FloatFormat("f32", 8, 23),
        FloatFormat("f64", 11, 52),
        FloatFormat("f8E5M2", 5, 2),
        FloatFormat("f8E4M3", 4, 3),
    )
}
