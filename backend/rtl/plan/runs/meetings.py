"""When two pipelines, one after the other, touch the same elements.

A pipeline that stores a table row by row, and one that reads it in the same order, can follow each other
closely: the row that the second one reads first was stored long before the last one. Where subscripts are
linear in the counters of both pipelines, and these run between known bounds, all elements are enumerated: of
each the last iteration that touches it in the earlier pipeline, and the first one in the later. All else
counts as met by the last iteration of one and the first of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...graph.nodes import Access, Lin
from ...graph.regions import Block, Leaf, Level
from ..cycles import Values, span

MOST_ITERATIONS = 1 << 14
"""Iterations of a pipeline that are enumerated; one with more has no lead."""
MOST_EFFORT = 1 << 19
"""Iterations that are enumerated for one function, for all pairs of accesses."""
NEVER = 1 << 40
"""The lead where no element is touched by both."""

type Own = tuple[tuple[int, int], ...]
"""A linear expression in counters of a pipeline: their numbers, and coefficients."""
type Row = tuple[Own, Own, int]
"""An equation: one expression and a constant equal another one, of the later pipeline."""


class Meetings:
    """Of the pipelines of one function."""

    def __init__(self) -> None:
        self._left = MOST_EFFORT
        self._counters: dict[int, list[Values] | None] = {}
        self._leads: dict[tuple[int, int, tuple[Row, ...]], int] = {}

    def lead(
        self,
        before: Block | Leaf,
        after: Block | Leaf,
        x: Access,
        y: Access,
        same: frozenset[int],
    ) -> int:
        """Cycles, at least, from the issue of ``x`` on an element to that of ``y`` on it, counted without
        those from the last issue of ``before`` to the first of ``after``.

        Args:
            same: counters around both that have one value.
        """
        if x.by_bank or y.by_bank or x.array.copied:
            return 0
        rows = tuple(_rows(before, after, x, y, same))
        key = before.body.number, after.body.number, rows
        if rows and key not in self._leads:
            self._leads[key] = self._find(before, after, rows)
        return self._leads.get(key, 0)

    def _find(self, before: Block | Leaf, after: Block | Leaf, rows: Sequence[Row]) -> int:
        earlier, later = self._iterations(before), self._iterations(after)
        if earlier is None or later is None:
            return 0
        self._left -= len(earlier) + len(later)
        if self._left < 0:
            return 0
        last = {
            tuple(_value(own, counters) + const for own, _, const in rows): number
            for number, counters in enumerate(earlier)
        }
        lead = NEVER
        # An element's first iteration is the last one that is entered.
        first = {
            tuple(_value(own, counters) for _, own, _ in rows): number
            for number, counters in reversed(list(enumerate(later)))
        }
        for element, number in last.items():
            if element in first:
                behind = (len(earlier) - 1 - number) * before.body.ii
                lead = min(lead, behind + first[element] * after.body.ii)
        return lead

    def _iterations(self, region: Block | Leaf) -> list[Values] | None:
        """The counters of each iteration; None where they are not known, or too many."""
        number = region.body.number
        if number not in self._counters:
            self._counters[number] = _enumerated(region)
        return self._counters[number]


def _enumerated(region: Block | Leaf) -> list[Values] | None:
    levels = _levels(region)
    if isinstance(region, Leaf) and region.exit is not None:
        return None
    found: list[Values] = []
    for counters in _runs(levels, {}):
        if counters is None or len(found) == MOST_ITERATIONS:
            return None
        found.append(counters)
    return found


def _runs(levels: Sequence[Level], values: Values) -> Iterator[Values | None]:
    if not levels:
        yield values
        return
    level, *inner = levels
    counted = span(level, values)
    if counted is None or not 0 < len(counted) <= MOST_ITERATIONS and level.trips is not None:
        yield None
        return
    for value in counted:
        yield from _runs(inner, {**values, level.iv.number: value})


def _levels(region: Block | Leaf) -> list[Level]:
    return region.levels if isinstance(region, Leaf) else []


def _rows(
    before: Block | Leaf, after: Block | Leaf, x: Access, y: Access, same: frozenset[int]
) -> Iterator[Row]:
    """What two accesses of one element ask, as far as it can be said of counters."""
    mine, theirs = ({level.iv.number for level in _levels(r)} for r in (before, after))
    for a, b in zip(x.index, y.index, strict=True):
        (own, rest), (other, others) = _split(a, mine), _split(b, theirs)
        stable = all(number in same for number, _ in rest)
        if rest == others and stable:
            yield own, other, a.const - b.const


def _split(expression: Lin, counters: set[int]) -> tuple[Own, Own]:
    """The terms of counters, and the others."""
    terms = expression.signature
    own = tuple(term for term in terms if term[0] in counters)
    return own, tuple(term for term in terms if term[0] not in counters)


def _value(own: Own, counters: Values) -> int:
    return sum(factor * counters[number] for number, factor in own)
