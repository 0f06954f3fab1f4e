"""Whether accesses under conditions meet: ``if r != p`` keeps a store of ``B[r]`` from a load of ``B[p]``.

Where a condition compares index values, islpy is asked for a pair of iterations in which both accesses happen
and are of one element. Counters have a value in each of the two iterations, and so has what the body
computes; all else has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from allo.dialects.affine.isl import isl

from ...graph.conditions import index_tests
from ...graph.nodes import Access, Body, Cases, Lin, Node
from ...graph.regions import Level

MOST_QUESTIONS = 400
"""Questions asked for one body; accesses beyond are assumed to meet."""
MOST_TERMS = 24
"""Comparisons and alternatives in the conditions of a pair; one with more is assumed to meet."""

_SIGNS = ("=", "!=", "<", "<=", ">", ">=")
_OPPOSITE = (1, 0, 5, 4, 3, 2)


@dataclass(slots=True)
class _Question:
    """Conditions in text, and the symbols in them."""

    symbols: dict[str, tuple[Node, str]] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)


class Guarded:
    """Accesses of one body, in a nest whose iterations follow each other.

    Args:
        varies: whether a symbol may differ between iterations.
    """

    def __init__(self, body: Body, levels: Sequence[Level], varies: Callable[[Node], bool]) -> None:
        self._tests = index_tests(body)
        self._levels, self._varies = levels, varies
        self._known: dict[object, int | None] = {}
        self._pairs: dict[tuple[int, int], tuple[list[tuple[Lin, Lin]], int]] = {}
        self._numbers: dict[object, int] = {}
        self._counts: dict[Cases, int] = {}

    def meet(self, a: Access, b: Access, between: tuple[int, int]) -> bool:
        """Whether two accesses may be of one element in one iteration.

        Args:
            between: numbers of both subscripts.
        """
        return self._asked(a, b, between, across=False) is not None

    def least(self, a: Access, b: Access, between: tuple[int, int]) -> int | None:
        """The least number of iterations from the first to the second of one element; None for never."""
        return self._asked(a, b, between, across=True)

    def _asked(self, a: Access, b: Access, between: tuple[int, int], *, across: bool) -> int | None:
        if not self._tests or not (self._terms(a.needed) or self._terms(b.needed)):
            return 1
        if between not in self._pairs:
            asked = [(x, y) for x, y in zip(a.index, b.index, strict=True) if x != y or x.terms]
            subscripts = tuple((x.key, y.key) for x, y in asked)
            number = self._numbers.setdefault(subscripts, len(self._numbers))
            self._pairs[between] = asked, number
        pairs, number = self._pairs[between]
        key = across, number, a.needed, b.needed
        if key not in self._known:
            many = self._terms(a.needed) + self._terms(b.needed) > MOST_TERMS
            if many or len(self._known) >= MOST_QUESTIONS:
                return 1
            self._known[key] = self._answer(pairs, a.needed, b.needed, across=across)
        return self._known[key]

    def _terms(self, cases: Cases) -> int:
        """Comparisons of index values in a condition, which is none where an alternative has none."""
        found = self._counts.get(cases)
        if found is None:
            each = [sum(key in self._tests for key, _ in case) for case in cases]
            found = self._counts[cases] = sum(each) if all(each) else 0
        return found

    def _answer(
        self, pairs: list[tuple[Lin, Lin]], first: Cases, second: Cases, *, across: bool
    ) -> int | None:
        question = _Question()
        later = "t" if across else "s"
        for x, y in pairs:
            question.rows.append(
                f"{self._text(x, 's', question)} = {self._text(y, later, question)}"
            )
        for cases, when in ((first, "s"), (second, later)):
            if self._terms(cases):
                question.rows.append(self._holds(cases, when, question))
        strides = self._strides() if across else None
        distance = "1"
        if strides is not None:
            moves = (
                f"{stride} * ({self._name(level.iv, 't', question)} - {self._name(level.iv, 's', question)})"
                for level, stride in zip(self._levels, strides, strict=True)
            )
            distance = " + ".join(moves)
        elif across:
            question.rows.append(self._follows(question))
        self._bound(question)
        names = ", ".join(("d", *question.symbols))
        rows = " and ".join((f"d = {distance}", "d >= 1", *question.rows))
        met = isl.Set(f"{{ [{names}] : {rows} }}")
        return None if met.is_empty() else int(str(met.dim_min_val(0)))

    def _holds(self, cases: Cases, when: str, question: _Question) -> str:
        """A condition, in so far as it compares index values."""
        alternatives = []
        for case in cases:
            rows = []
            for key, holds in case:
                if key in self._tests:
                    sign, difference = self._tests[key]
                    sign = sign if holds else _OPPOSITE[sign]
                    rows.append(f"{self._text(difference, when, question)} {_SIGNS[sign]} 0")
            alternatives.append(f"({' and '.join(rows)})")
        return f"({' or '.join(alternatives)})"

    def _strides(self) -> list[int] | None:
        """Iterations for each step of a level's counter; None where these are not always as many."""
        if any(not level.counts and (level.step > 1 or level.stride) for level in self._levels):
            return None
        found = [1]
        for level in reversed(self._levels[1:]):
            if level.trips is None:
                return None
            found.append(found[-1] * level.trips)
        return found[::-1]

    def _follows(self, question: _Question) -> str:
        """That one iteration comes after another."""
        ways, same = [], list[str]()
        for level in self._levels:
            before, after = (self._name(level.iv, when, question) for when in "st")
            ways.append(" and ".join((*same, f"{before} < {after}")))
            same.append(f"{before} = {after}")
        return f"({' or '.join(f'({way})' for way in ways)})"

    def _text(self, expression: Lin, when: str, question: _Question) -> str:
        terms = (f"{k} * {self._name(node, when, question)}" for node, k in expression.terms)
        return " + ".join((str(expression.const), *terms))

    def _name(self, node: Node, when: str, question: _Question) -> str:
        """A symbol as islpy writes it."""
        name = f"{when if self._varies(node) else 'p'}{node.number}"
        question.symbols[name] = node, when
        return name

    def _bound(self, question: _Question) -> None:
        """Add what is known of the symbols, and of those in it."""
        levels = {level.iv.number: level for level in self._levels}
        bounded: set[str] = set()
        while missing := [name for name in question.symbols if name not in bounded]:
            for name in missing:
                bounded.add(name)
                node, when = question.symbols[name]
                level = levels.get(node.number)
                low, high = node.low, node.high
                if level is not None and level.trips is not None:
                    low, high = 0, level.trips - 1
                if low or high:  # nothing is known of a node that says neither
                    question.rows.append(f"{low} <= {name} <= {high}")
                scaled = f"{node.stride} * {name}"
                question.rows += self._rows(node.floors, "<=", scaled, when, question)
                question.rows += self._rows(node.ceilings, ">=", scaled, when, question)

    def _rows(
        self, bounds: Iterable[Lin], sign: str, name: str, when: str, question: _Question
    ) -> list[str]:
        return [f"{self._text(bound, when, question)} {sign} {name}" for bound in bounds]
