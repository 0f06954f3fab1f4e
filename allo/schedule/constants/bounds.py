"""Comparisons with powers of two by the upper bits: a level of tables in place of a chain of carries.

Of ``n`` bits with a sign, a number is at least ``2**k`` where it has no sign and one of the bits from ``k``
up, and below ``-2**k`` where it has a sign and lacks one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.core.integers import PREDICATES

MOST_BITS = 6
"""Most bits between a bound and the sign: those that tables look at in a level or two."""
_SWAPPED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """Makes comparisons.

    Attributes:
        make: an operation of a name, a type of its result, and operands, with a predicate or -1.
        constant: a number of a type.
    """

    make: Callable[[str, ir.Type, Sequence[ir.Value], int], ir.Value]
    constant: Callable[[int, ir.Type], ir.Value]

    def compared(self, predicate: str, value: ir.Value, bound: int, first: bool) -> ir.Value | None:
        """A comparison with a bound, which may be its first operand; None where it is no power of two."""
        if predicate not in _SWAPPED:
            return None
        predicate = _SWAPPED[predicate] if first else predicate
        bound += predicate in ("sle", "sgt")
        below = self.below(value, bound) if bound else None  # the sign is one bit as it is
        return below if below is None or predicate in ("slt", "sle") else self._not(below)

    def limited(self, least: bool, value: ir.Value, bound: int) -> ir.Value | None:
        """The greater of a value and its least one, or the smaller of it and its greatest one."""
        below = self.below(value, bound if least else bound + 1)
        if below is None:
            return None
        limit = self.constant(bound, value.type)
        sides = (limit, value) if least else (value, limit)
        return self.make("arith.select", value.type, [below, *sides], -1)

    def below(self, value: ir.Value, bound: int) -> ir.Value | None:
        """Whether a value with a sign is less than a bound; None where the bound is no power of two."""
        width = ir.IntegerType(value.type).width
        place = max(abs(bound).bit_length() - 1, 0)
        count = width - 1 - place
        if abs(bound) & (abs(bound) - 1) or (bound and not 1 <= count <= MOST_BITS):
            return None
        sign = self._bits(value, width - 1, 1)
        if bound == 0:
            return sign
        upper = self._bits(value, place, count)
        if bound > 0:
            none = self._compared("eq", upper, 0)
            return self.make("arith.ori", sign.type, [sign, none], -1)
        return self.make("arith.andi", sign.type, [sign, self._compared("ne", upper, -1)], -1)

    def _bits(self, value: ir.Value, low: int, count: int) -> ir.Value:
        if low:
            value = self.make(
                "arith.shrui", value.type, [value, self.constant(low, value.type)], -1
            )
        return self.make("arith.trunci", ir.IntegerType.get_signless(count), [value], -1)

    def _compared(self, predicate: str, value: ir.Value, to: int) -> ir.Value:
        bit = ir.IntegerType.get_signless(1)
        operands = [value, self.constant(to, value.type)]
        return self.make("arith.cmpi", bit, operands, PREDICATES.index(predicate))

    def _not(self, bit: ir.Value) -> ir.Value:
        return self.make("arith.xori", bit.type, [bit, self.constant(-1, bit.type)], -1)
