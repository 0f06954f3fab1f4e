"""Integer arithmetic written as Python, appearing as ``arith`` operations.

The expansions of this folder are fixed-point programs on the bits of a float: integer operations
are exact everywhere, so every back end that runs them agrees to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.core.integers import PREDICATES, as_signed


class Emitter:
    """Makes operations at one place of a module.

    Args:
        anchor: the operation before which everything is put, and whose location it gets.
    """

    def __init__(self, anchor: ir.Operation) -> None:
        self.point = ir.InsertionPoint(anchor)
        self.location = anchor.location
        self.context = anchor.context
        self._constants: dict[tuple[int, int], Bits] = {}

    def make(
        self,
        name: str,
        result: ir.Type,
        operands: Sequence[ir.Value],
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """The result of a new operation."""
        operation = ir.Operation.create(
            name,
            results=[result],
            operands=list(operands),
            attributes=attributes or {},
            loc=self.location,
            ip=self.point,
        )
        return operation.results[0]

    def integer(self, width: int) -> ir.Type:
        """``i<width>``."""
        return ir.IntegerType.get_signless(width, self.context)

    def constant(self, value: int, width: int) -> Bits:
        """An integer constant, taken modulo ``2**width``."""
        value &= (1 << width) - 1
        key = (value, width)
        if key not in self._constants:
            number = as_signed(value, width)
            text = ("true" if value else "false") if width == 1 else f"{number} : i{width}"
            attribute = ir.Attribute.parse(text, self.context)
            made = self.make("arith.constant", self.integer(width), [], {"value": attribute})
            self._constants[key] = Bits(self, made, width)
        return self._constants[key]

    def bits_of(self, value: ir.Value, width: int) -> Bits:
        """A float's bits."""
        return Bits(self, self.make("arith.bitcast", self.integer(width), [value]), width)

    def select(self, condition: Bits, then: Bits, other: Bits) -> Bits:
        """``then`` where the condition bit is set."""
        made = self.make(
            "arith.select",
            self.integer(then.width),
            [condition.value, then.value, other.value],
        )
        return Bits(self, made, then.width)


class Bits:
    """A value of type ``i<width>``; two operands of an operation have one width."""

    __slots__ = ("emitter", "value", "width")

    def __init__(self, emitter: Emitter, value: ir.Value, width: int) -> None:
        self.emitter = emitter
        self.value = value
        self.width = width

    def _other(self, other: Bits | int) -> Bits:
        if isinstance(other, int):
            return self.emitter.constant(other, self.width)
        if other.width != self.width:
            raise ValueError(f"widths {self.width} and {other.width} differ")
        return other

    def _binary(self, name: str, other: Bits | int) -> Bits:
        made = self.emitter.make(
            f"arith.{name}", self.value.type, [self.value, self._other(other).value]
        )
        return Bits(self.emitter, made, self.width)

    def __add__(self, other: Bits | int) -> Bits:
        return self._binary("addi", other)

    def __sub__(self, other: Bits | int) -> Bits:
        return self._binary("subi", other)

    def __mul__(self, other: Bits | int) -> Bits:
        return self._binary("muli", other)

    def __and__(self, other: Bits | int) -> Bits:
        return self._binary("andi", other)

    def __or__(self, other: Bits | int) -> Bits:
        return self._binary("ori", other)

    def __xor__(self, other: Bits | int) -> Bits:
        return self._binary("xori", other)

    def __neg__(self) -> Bits:
        return self.emitter.constant(0, self.width) - self

    def shl(self, amount: Bits | int) -> Bits:
        """Shifted left; the amount is below the width."""
        return self if amount == 0 else self._binary("shli", amount)

    def shr(self, amount: Bits | int) -> Bits:
        """Shifted right, zeros entering; the amount is below the width."""
        return self if amount == 0 else self._binary("shrui", amount)

    def sar(self, amount: Bits | int) -> Bits:
        """Shifted right, sign bits entering; the amount is below the width."""
        return self if amount == 0 else self._binary("shrsi", amount)

    def divu(self, other: Bits | int) -> Bits:
        """The quotient as unsigned numbers."""
        return self._binary("divui", other)

    def umin(self, other: Bits | int) -> Bits:
        """The smaller as unsigned numbers."""
        return self._binary("minui", other)

    def smax(self, other: Bits | int) -> Bits:
        """The larger as signed numbers."""
        return self._binary("maxsi", other)

    def is_(self, predicate: str, other: Bits | int) -> Bits:
        """One bit: the comparison ``eq``, ``slt``, ``uge`` … holds."""
        kind = ir.IntegerType.get_signless(64, self.emitter.context)
        attribute = ir.IntegerAttr.get(kind, PREDICATES.index(predicate))
        made = self.emitter.make(
            "arith.cmpi",
            self.emitter.integer(1),
            [self.value, self._other(other).value],
            {"predicate": attribute},
        )
        return Bits(self.emitter, made, 1)

    def _resize(self, name: str, width: int) -> Bits:
        made = self.emitter.make(f"arith.{name}", self.emitter.integer(width), [self.value])
        return Bits(self.emitter, made, width)

    def zext(self, width: int) -> Bits:
        """Zeros added at the top, or bits dropped there."""
        if width == self.width:
            return self
        return self._resize("extui" if width > self.width else "trunci", width)

    def sext(self, width: int) -> Bits:
        """Sign bits added at the top, or bits dropped there."""
        if width == self.width:
            return self
        return self._resize("extsi" if width > self.width else "trunci", width)

    def field(self, low: int, width: int) -> Bits:
        """``width`` bits from bit ``low`` up."""
        return self.shr(low).zext(width)

    def as_float(self, name: str) -> ir.Value:
        """The float whose bits these are."""
        kind = ir.Type.parse(name, self.emitter.context)
        return self.emitter.make("arith.bitcast", kind, [self.value])
