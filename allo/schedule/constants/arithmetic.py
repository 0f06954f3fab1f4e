"""Operations on sums: those that give sums again, and those that give new words."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.dialects.ranges.interval import OF_ARITH, Interval, combined, hull, of_bits, within
from allo.dialects.sums.adders import bits_of

from .linear import Step, Subscript, Value, Word, added, number, scaled, width_of

_WIDENINGS = ("arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui")


class NotExactError(Exception):
    """A value is read whose upper bits a sum does not say: run the nest again, and take no such sum."""


class Arithmetic:
    """The words of a nest, and what its operations make of them.

    Attributes:
        what: opens each message.
        exact: whether a sum that may be longer than its type is made a word when it is extended. Without
            it the sum goes on, and only its low bits count.
        float_product: the first product of floats that was met.
        data_product: the first product of two integers neither of which is constant.
        becomes: what is made of the nest.
    """

    becomes = "sums"

    def __init__(self, what: str, exact: bool) -> None:
        self.what = what
        self.exact = exact
        self.words: list[Word] = []
        self.float_product: ir.Operation | None = None
        self.data_product: ir.Operation | None = None
        self._made: dict[tuple[object, ...], Value] = {}

    def refusal(self, op: ir.Operation, why: str, help: str) -> ScheduleError:
        """An error at an operation."""
        return ScheduleError(f"{self.what}: {why}.", place_of(op), help=f"{help}.")

    def new_word(
        self,
        kind: ir.Type,
        level: int,
        *,
        values: Interval | None = None,
        op: ir.Operation | None = None,
        value: ir.Value | None = None,
        operands: tuple[Value, ...] = (),
        subscripts: tuple[Subscript, ...] = (),
    ) -> Value:
        """A word, as a value."""
        width = width_of(kind)
        whole = of_bits(width) if width else (0, 0)
        kept = values if values is not None and within(values, whole) else whole
        self.words.append(Word(kept, width, level, op, value, operands, subscripts))
        return Value({len(self.words) - 1: 1}, 0, width, width, kept)

    def from_outside(self, value: ir.Value) -> Value:
        """A value that the nest reads; a constant is known."""
        if not isinstance(value, ir.BlockArgument):
            owner = value.owner.operation
            if owner.name == "arith.constant" and isinstance(value.type, ir.IntegerType):
                return self._constant(owner)
        return self.new_word(value.type, 0, value=value)

    @staticmethod
    def _constant(op: ir.Operation) -> Value:
        width = width_of(op.result.type)
        return number(int(ir.IntegerAttr(op.attributes["value"]).value), width)

    def computed(self, step: Step, operands: list[Value]) -> Value:
        """The result of an operation.

        Raises:
            ScheduleError: an operation that is no arithmetic.
        """
        name, op, kind, width = step.name, step.op, step.kind, step.width
        if kind is None or not name.startswith(("arith.", "math.")) or len(op.regions):
            raise self.refusal(
                op,
                f"{_spoken(name)} cannot stand in a nest that becomes {self.becomes}",
                "the nest may hold loops of constant bounds, loads, stores and arithmetic; move the "
                "rest before or behind it, or s.inline a function that it calls",
            )
        if name == "arith.constant" and width:
            return self._constant(op)
        found = self._sum(op, name, width, operands) if width else None
        if found is not None:
            return found
        if name == "arith.mulf":
            self.float_product = self.float_product or op
        return self._word_of(op, name, kind, operands)

    def _sum(self, op: ir.Operation, name: str, width: int, given: list[Value]) -> Value | None:
        """The result as a sum; None where it is none."""
        if name == "arith.addi":
            return added(given[0], given[1], 1, width, self.words)
        if name == "arith.subi":
            return added(given[0], given[1], -1, width, self.words)
        if name == "arith.muli":
            a, b = given
            if a.is_constant:
                a, b = b, a
            if b.is_constant:
                return scaled(a, b.constant, width)
            self.data_product = self.data_product or op
            return None
        if name == "arith.shli" and given[1].is_constant and 0 <= given[1].constant < width:
            return scaled(given[0], 1 << given[1].constant, width)
        if name == "arith.trunci" or (name in _WIDENINGS and width <= given[0].width):
            a = given[0]
            return Value(a.terms, a.constant, width, min(a.valid, width), a.span)
        if name in _WIDENINGS:
            return self._widened(
                given[0], width, unsigned=name in ("arith.extui", "arith.index_castui")
            )
        return None

    def _widened(self, a: Value, width: int, unsigned: bool) -> Value | None:
        if a.is_constant:
            low = a.constant & ((1 << a.width) - 1)
            high = low if unsigned or low < 1 << (a.width - 1) else low - (1 << a.width)
            return number(high, width)
        if a.valid == a.width and within(a.span, of_bits(a.width, signed=not unsigned)):
            return Value(a.terms, a.constant, width, width, a.span)
        if self.exact or len(a.terms) == 1:
            return None
        return Value(a.terms, a.constant, width, a.valid, a.span)

    def level_of(self, value: Value) -> int:
        """The operations on data before a sum."""
        return max((self.words[word].level for word in value.terms), default=0)

    def _word_of(
        self, op: ir.Operation, name: str, kind: ir.Type, operands: Sequence[Value]
    ) -> Value:
        for value in operands:
            if value.valid < value.width:
                raise NotExactError
        others = {n: str(op.attributes[n]) for n in op.attributes}
        key = name, str(kind), tuple(v.key for v in operands), tuple(sorted(others.items()))
        found = self._made.get(key)
        if found is None:
            level = 1 + max((self.level_of(v) for v in operands), default=0)
            found = self._made[key] = self.new_word(
                kind,
                level,
                values=self._values(name, operands),
                op=op,
                operands=tuple(operands),
            )
        return found

    def _values(self, name: str, operands: Sequence[Value]) -> Interval | None:
        """Where the result of an operation lies; None where only its type says."""
        if name == "arith.extui" or name == "arith.index_castui":
            return of_bits(operands[0].width, signed=False)
        if name == "arith.extsi":
            return of_bits(operands[0].width)
        spans = [self._signed(value) for value in operands]
        if name == "arith.select":
            return hull(spans[1], spans[2])
        if name in ("arith.shrsi", "arith.shrui") and operands[1].is_constant:
            amount, (low, high) = operands[1].constant, spans[0]
            if 0 <= amount < operands[0].width and (name == "arith.shrsi" or low >= 0):
                return low >> amount, high >> amount
            return None
        found = None
        if name in OF_ARITH and len(spans) == 2:
            found = combined(OF_ARITH[name], spans[0], spans[1])
        if found is None and name in ("arith.andi", "arith.ori", "arith.xori"):
            found = of_bits(max(map(bits_of, spans)))
        return found

    def _signed(self, value: Value) -> Interval:
        """Where an operand lies, read in two's complement."""
        whole = of_bits(value.width) if value.width else (0, 0)
        found = value.span
        return found if within(found, whole) else whole


def _spoken(name: str) -> str:
    return {
        "func.call": "a call",
        "scf.while": "a while loop",
        "scf.for": "a loop whose bounds or step are known only when it runs",
        "scf.if": "a branch that data decide",
    }.get(name, f"the operation {name}")
