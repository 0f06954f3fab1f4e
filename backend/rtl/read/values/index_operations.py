"""Operations on index values: linear where they are, else hardware as wide as the values need.

An index is a signed integer of 64 bits. Its operations have the results of docs/internals/core_ir.md
("Arithmetic") in those 64 bits, whatever narrower width computes them.
"""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects.ranges.interval import (
    INDEX_BITS,
    INDEX_RANGE,
    Interval,
    combined,
    of_bits,
    within,
)

from ...graph.linear import add, constant, index_width, scale, subtract, symbol
from ...graph.nodes import Lin, Node
from ..records import Op, element_width
from .builder import Bound
from .values import Values


def _index_cast(self: Values, op: Op, operands: list[Bound]) -> Node | Lin:
    signed = op.name == "arith.index_cast"
    source, target = str(op.operand_types[0]), str(op.result_types[0])
    if source != "index":
        width = element_width(source)
        node = self.node(operands[0], width)
        if width > INDEX_BITS:
            node, width = self.cut(node, INDEX_BITS), INDEX_BITS
        masked = _masked(node)
        if masked is not None:
            return self.modulo(self.wrapped(masked[0]), masked[1])
        return self.as_index(node, of_bits(width, signed=signed or width == INDEX_BITS))
    width, value = element_width(target), self.lin(operands[0])
    return self.lin_of_width(self.wrapped(value) if width > INDEX_BITS else value, width)


def _masked(node: Node) -> tuple[Lin, int] | None:
    """The index value and the divisor behind ``t & 3``, which is ``t % 4``; None for other nodes."""
    if node.kind != "wire" or node.data[0] != "zext":
        return None
    low = node.operands[0]
    if low.kind != "wire" or low.data[:2] != ("slice", 0):
        return None
    source, divisor = low.operands[0], 1 << low.width
    if source.kind == "lin":
        return source.data, divisor
    return (symbol(source), divisor) if source.kind == "iv" else None


def _binary(fn: Callable[[Lin, Lin], Lin]) -> Callable[[Values, Op, list[Bound]], Lin]:
    def run(self: Values, op: Op, operands: list[Bound]) -> Lin:
        return fn(self.lin(operands[0]), self.lin(operands[1]))

    return run


def _multiply(self: Values, op: Op, operands: list[Bound]) -> Lin:
    return self.multiply(self.lin(operands[0]), self.lin(operands[1]))


def _compare(self: Values, op: Op, operands: list[Bound]) -> Node:
    return self.compare(op.attrs["predicate"], self.lin(operands[0]), self.lin(operands[1]))


def _extreme(self: Values, op: Op, operands: list[Bound]) -> Lin:
    return self.extreme([self.lin(o) for o in operands], op.name.startswith("arith.min"))


def _shift_left(self: Values, op: Op, operands: list[Bound]) -> Node | Lin:
    value, amount = self.lin(operands[0]), self.lin(operands[1])
    if not amount.is_const:
        return _computed(self, op, operands)
    return scale(value, 1 << amount.const) if 0 <= amount.const < INDEX_BITS else constant(0)


def _shift_right(self: Values, op: Op, operands: list[Bound]) -> Node | Lin:
    value, amount = self.lin(operands[0]), self.lin(operands[1])
    signed = op.name == "arith.shrsi"
    if not amount.is_const or (not signed and self.wrapped(value).bounds()[0] < 0):
        return _computed(self, op, operands)
    value = self.wrapped(value)
    if not 0 <= amount.const < INDEX_BITS:
        return self.floor_divide(value, 1 << (INDEX_BITS - 1)) if signed else constant(0)
    return self.floor_divide(value, 1 << amount.const)


def _select(self: Values, op: Op, operands: list[Bound]) -> Lin | None:
    if op.result_types[0] != "index":
        return None
    condition = self.node(operands[0], 1)
    return self.choose(condition, self.lin(operands[1]), self.lin(operands[2]))


# --- division ----------------------------------------------------------------------


def _divide(self: Values, op: Op, operands: list[Bound]) -> Node | Lin:
    """Quotient or remainder: by a constant linear or by its reciprocal, else by a divider."""
    a, b = self.wrapped(self.lin(operands[0])), self.lin(operands[1])
    rest = "rem" in op.name
    if not b.is_const or (op.name in _UNSIGNED and (a.bounds()[0] < 0 or b.const < 0)):
        return _computed(self, op, operands)
    if b.const == 0:
        return a if rest else constant(-1)
    if op.name == "arith.floordivsi":
        return self.floor_divide(a if b.const > 0 else scale(a, -1), abs(b.const))
    if a.bounds()[0] >= 0:
        found = self.modulo(a, abs(b.const)) if rest else self.floor_divide(a, abs(b.const))
        return found if rest or b.const > 0 else scale(found, -1)
    return _toward_zero(self, a, b.const, rest=rest)


def _toward_zero(self: Values, a: Lin, divisor: int, *, rest: bool) -> Lin:
    """Division, by a constant, of a value that may be negative: of its size, with the sign put back."""
    negative = self.less(a, constant(0))
    low, high = a.bounds()
    size = self.choose(negative, scale(a, -1), a, (0, max(-low, high)))
    part = self.modulo(size, abs(divisor)) if rest else self.floor_divide(size, abs(divisor))
    positive = rest or divisor > 0
    return self.choose(
        negative, scale(part, -1 if positive else 1), scale(part, 1 if positive else -1)
    )


_UNSIGNED = frozenset({"arith.divui", "arith.remui", "arith.ceildivui"})


# --- hardware ----------------------------------------------------------------------


def _computed(self: Values, op: Op, operands: list[Bound]) -> Lin:
    """An operation of the library on two index values, in as many bits as they and the result need."""
    values = [self.wrapped(self.lin(o)) for o in operands]
    width = _width_of(op.name, [v.bounds() for v in values])
    kind = f"i{width}"
    node = self.compute(op, [self.lin_of_width(v, width) for v in values], (kind, kind), kind)
    return self.as_index(node, _result_range(op.name, width, [v.bounds() for v in values]))


def _width_of(name: str, ranges: list[Interval]) -> int:
    negative = any(low < 0 for low, _ in ranges)
    if name == "arith.shli" and within(ranges[1], (0, INDEX_BITS - 1)):
        low, high = _shifted(ranges)
        return max(index_width(low, high), min(INDEX_BITS, ranges[1][1] + 1))
    if name == "arith.shli" or (negative and (name in _UNSIGNED or name == "arith.shrui")):
        return INDEX_BITS
    if name in _SHIFTS and not within(ranges[1], (0, 31)):
        return INDEX_BITS
    width = index_width(min(low for low, _ in ranges), max(high for _, high in ranges))
    # The lowest value by -1 has a quotient of one more bit.
    overflows = name in _SIGNED_QUOTIENTS and ranges[1][0] <= -1 <= ranges[1][1]
    if overflows and ranges[0][0] == -(1 << (width - 1)):
        width = min(INDEX_BITS, width + 1)
    return width


def _shifted(ranges: list[Interval]) -> Interval:
    """What a left shift gives, by amounts below the bits of an index."""
    (low, high), (_, amount) = ranges
    return min(low, low << amount), max(high, high << amount)


def _result_range(name: str, width: int, ranges: list[Interval]) -> Interval:
    (a_low, a_high), (b_low, b_high) = ranges
    masked = combined("&", *ranges) if name == "arith.andi" else None
    if masked is not None:
        return masked
    if name in ("arith.andi", "arith.ori", "arith.xori") and min(a_low, b_low) >= 0:
        return 0, (1 << max(a_high, b_high).bit_length()) - 1
    if name == "arith.shli" and within(ranges[1], (0, INDEX_BITS - 1)):
        found = _shifted(ranges)
        return found if within(found, INDEX_RANGE) else INDEX_RANGE
    if name in ("arith.remsi", "arith.remui") and a_low >= 0:
        return 0, a_high
    if name in ("arith.shrsi", "arith.shrui") and a_low >= 0:
        return 0, a_high
    return of_bits(width)


_SHIFTS = frozenset({"arith.shli", "arith.shrsi", "arith.shrui"})
_SIGNED_QUOTIENTS = frozenset({"arith.divsi", "arith.floordivsi", "arith.ceildivsi"})

INDEX_OPS: dict[str, Callable[[Values, Op, list[Bound]], Node | Lin | None]] = {
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast,
    "arith.addi": _binary(add),
    "arith.subi": _binary(subtract),
    "arith.muli": _multiply,
    "arith.cmpi": _compare,
    "arith.minsi": _extreme,
    "arith.maxsi": _extreme,
    "arith.divsi": _divide,
    "arith.divui": _divide,
    "arith.floordivsi": _divide,
    "arith.remsi": _divide,
    "arith.remui": _divide,
    "arith.shli": _shift_left,
    "arith.shrsi": _shift_right,
    "arith.shrui": _shift_right,
    "arith.select": _select,
    **dict.fromkeys(
        (
            "arith.andi",
            "arith.ori",
            "arith.xori",
            "arith.minui",
            "arith.maxui",
            "arith.ceildivsi",
            "arith.ceildivui",
        ),
        _computed,
    ),
}
