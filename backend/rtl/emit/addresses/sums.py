"""Sums of terms such as ``64 * i + j + k // 3``, in the order in which the terms are there.

Logic may give a term in the cycle of the sum, as it does a quotient. What comes from registers is added
first, so that few adders stand behind a late term.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import ceil, log2
from typing import NamedTuple

from allo.dialects.sums.digits import signed_digits

from ...graph.nodes import Node
from ..builder import ModuleBuilder

MOST_COPIES = 4
"""Shifted copies of a value that are added up to a product by a constant; for more, a multiplier."""


class _Part(NamedTuple):
    """A part of a sum: how late it is there, its place among the parts, whether it is subtracted."""

    late: float
    place: int
    negative: bool
    value: str


class LinearSums:
    """Emits linear expressions.

    Args:
        sum_ns: how long an adder of so many bits takes.
        late: how long into the cycle of a node one of its operands comes.
    """

    def __init__(
        self,
        text: ModuleBuilder,
        sum_ns: Callable[[int], float],
        late: Callable[[Node, Node], float],
    ) -> None:
        self._text, self._sum_ns, self._late = text, sum_ns, late

    def emit(self, node: Node, operands: list[str]) -> str:
        """The value of a node of kind ``lin``."""
        width, text = node.width, self._text
        early, late = list[_Part](), list[_Part]()
        terms = zip(node.data.terms, operands, strict=True)
        for place, ((symbol, factor), operand) in enumerate(terms):
            if factor % (1 << width) == 0:
                continue
            value = text.extend(operand, symbol.width, width, signed=symbol.low < 0)
            value, adders = self._scaled(value, abs(factor), node)
            there = self._late(symbol, node)
            part = _Part(there + adders * self._sum_ns(width), place, factor < 0, value)
            (late if there else early).append(part)
        const = node.data.const % (1 << width)
        first = [*early, *late][:1]
        if first and first[0].negative and const:
            early.insert(0, _Part(0.0, -1, False, text.const(const, width)))
            const = 0
        if early:
            heappush(late, self._in_order(early, node))
        else:
            heapify(late)
        total = self._soonest(late, node)
        if not const and total:
            return total
        constant = text.const(const, width)
        return text.binary("add", total, constant, width, node.place) if total else constant

    def _in_order(self, parts: list[_Part], node: Node) -> _Part:
        """The sum of parts that are there from the beginning, those that are subtracted not first."""
        if parts[0].negative:
            parts.sort(key=lambda part: part.negative)
        total = parts[0]
        for part in parts[1:]:
            total = self._sum(total, part, node)
        levels = ceil(log2(len(parts)))
        return total._replace(late=levels * self._sum_ns(node.width))

    def _soonest(self, parts: list[_Part], node: Node) -> str:
        """The sum of a heap of parts, of which the two that come first are added first; "" of none."""
        if not parts:
            return ""
        while len(parts) > 1:
            heappush(parts, self._sum(heappop(parts), heappop(parts), node))
        (total,) = parts
        if not total.negative:
            return total.value
        zero = self._text.const(0, node.width)
        return self._text.binary("sub", zero, total.value, node.width, node.place)

    def _sum(self, a: _Part, b: _Part, node: Node) -> _Part:
        """Two parts as one."""
        kind, negative = "add", a.negative and b.negative
        if a.negative != b.negative:
            kind, (a, b) = "sub", (b, a) if a.negative else (a, b)
        late = max(a.late, b.late) + self._sum_ns(node.width)
        value = self._text.binary(kind, a.value, b.value, node.width, node.place)
        return _Part(late, min(a.place, b.place), negative, value)

    def _scaled(self, value: str, factor: int, node: Node) -> tuple[str, int]:
        """A value times a positive constant, and the adders behind one another that this takes.

        A few shifted copies of the value are added or subtracted.
        """
        width, text = node.width, self._text
        digits = signed_digits(factor)
        if factor == 1:
            return value, 0
        if len(digits) > MOST_COPIES:
            factor_text = text.const(factor, width)
            return text.binary("mul", value, factor_text, width, node.place), len(digits) - 1
        total = ""
        for place, digit in reversed(digits):
            if place >= width:
                continue
            copy = self._raised(value, place, width)
            if not total and digit < 0:
                total = text.const(0, width)
            op = "add" if digit > 0 else "sub"
            total = text.binary(op, total, copy, width, node.place) if total else copy
        return total or text.const(0, width), len(digits) - 1

    def _raised(self, value: str, place: int, width: int) -> str:
        """A value shifted left."""
        if not place:
            return value
        low = self._text.slice(value, 0, width - place, width)
        zeros = self._text.const(0, place)
        return self._text.concat([(low, width - place), (zeros, place)])
