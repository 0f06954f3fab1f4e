"""Where the values of nodes lie, as far as types, constants and operations tell.

A span of a node of ``n`` bits is an interval that holds an integer congruent to its value modulo ``2**n``,
whatever the inputs are. Read with a sign or without, it is cut to what the ``n`` bits can be then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from allo.dialects.core.integers import as_signed
from allo.dialects.ranges.interval import OF_ARITH, Interval, combined, hull, of_bits, within

from .linear import bits_signed, bits_unsigned
from .nodes import Node


def bits_of(span: Interval) -> int:
    """Bits that hold a span, with a sign where it has negative values."""
    return bits_signed(*span) if span[0] < 0 else bits_unsigned(span[1])


def value_range(node: Node) -> Interval:
    """The value of a node of any body, read in two's complement."""
    order: dict[int, Node] = {}
    stack = [(node, False)]
    while stack:
        top, seen = stack.pop()
        if seen:
            order.setdefault(top.number, top)
        elif top.number not in order:
            stack.append((top, True))
            stack += [(operand, False) for operand in top.operands]
    return Spans(order.values()).signed(node)


class Spans:
    """The spans of nodes, found in the order given, in which operands come first."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._found: dict[int, Interval] = {}
        for node in nodes:
            self.note(node)

    def of(self, node: Node) -> Interval:
        """An interval with an integer that is congruent to the value."""
        found = self._found.get(node.number)
        if found is not None:
            return found
        if node.kind == "const":
            return node.data, node.data
        if node.kind == "iv" and 0 <= node.low <= node.high <= of_bits(node.width, signed=False)[1]:
            return node.low, node.high
        return of_bits(node.width)

    def signed(self, node: Node) -> Interval:
        """The value, read in two's complement."""
        return _moved(self.of(node), of_bits(node.width), 1 << node.width)

    def unsigned(self, node: Node) -> Interval:
        """The value, read without a sign."""
        return _moved(self.of(node), of_bits(node.width, signed=False), 1 << node.width)

    def note(self, node: Node) -> None:
        """Find the span of a node whose operands are known."""
        width = node.width
        found: Interval | None = None
        if node.kind == "wire":
            found = self._wire(node)
        elif node.kind == "op":
            rule = _RULES.get(node.op)
            found = rule(self, node) if rule is not None and width else None
        elif node.kind == "load" and node.access is not None:
            array = node.access.array
            if array.constant and array.initial:
                words = [as_signed(word, width) for word in array.initial]
                # An address out of range gives a zero, or any word, where it does not count.
                found = min(0, *words), max(0, *words)
        if found is None:
            return
        low, high = of_bits(width)[0], of_bits(width, signed=False)[1]
        if found[1] - found[0] <= high and within(found, (low, high)):
            self._found[node.number] = found

    def _wire(self, node: Node) -> Interval | None:
        how = node.data[0]
        first = node.operands[0]
        if how == "slice":
            start = node.data[1]
            low, high = self.of(first)
            low, high = low >> start, high >> start
            return (low, high) if high - low < 1 << node.width else None
        if how == "zext":
            return self.unsigned(first)
        if how == "sext":
            return self.signed(first)
        if how == "concat" and len(node.operands) == 2 and first.kind == "const" and not first.data:
            low, high = self.of(node.operands[1])
            return low << first.width, high << first.width
        return None


def _moved(span: Interval, limits: Interval, modulus: int) -> Interval:
    """A span as values within limits of one modulus; the limits where it wraps."""
    for shift in (0, modulus, -modulus):
        moved = span[0] + shift, span[1] + shift
        if within(moved, limits):
            return moved
    return limits


def _signed(name: str) -> Callable[[Spans, Node], Interval | None]:
    operator = OF_ARITH[name]
    return lambda spans, node: combined(operator, *(spans.of(o) for o in node.operands))


def _conjunction(spans: Spans, node: Node) -> Interval:
    return 0, min(spans.unsigned(o)[1] for o in node.operands)


def _disjunction(spans: Spans, node: Node) -> Interval:
    highest = max(spans.unsigned(o)[1] for o in node.operands)
    return 0, (1 << bits_unsigned(highest)) - 1


def _selection(spans: Spans, node: Node) -> Interval:
    return hull(*(spans.of(o) for o in node.operands[1:]))


def _extreme(
    choose: Callable[[int, int], int], *, signed: bool
) -> Callable[[Spans, Node], Interval]:
    def rule(spans: Spans, node: Node) -> Interval:
        a, b = ((spans.signed if signed else spans.unsigned)(o) for o in node.operands)
        return choose(a[0], b[0]), choose(a[1], b[1])

    return rule


def _remainder(spans: Spans, node: Node) -> Interval | None:
    value, divisor = (spans.unsigned(o) for o in node.operands)
    # By zero the value stays.
    return 0, value[1] if divisor[0] == 0 else min(value[1], divisor[1] - 1)


_RULES: dict[str, Callable[[Spans, Node], Interval | None]] = {
    **{name: _signed(name) for name in ("arith.addi", "arith.subi", "arith.muli")},
    "arith.andi": _conjunction,
    "arith.ori": _disjunction,
    "arith.xori": _disjunction,
    "arith.select": _selection,
    "arith.maxsi": _extreme(max, signed=True),
    "arith.minsi": _extreme(min, signed=True),
    "arith.maxui": _extreme(max, signed=False),
    "arith.minui": _extreme(min, signed=False),
    "arith.remui": _remainder,
}
