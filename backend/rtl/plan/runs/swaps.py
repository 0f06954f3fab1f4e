"""How long a body waits for another one, so that their accesses of one array keep their order.

Accesses that may be of one element keep their order. What two accesses say of each other depends on how
their subscripts differ: lanes of an unrolled loop ask the same of each other, and are compared once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from ...graph.nodes import Access, Lin, Node
from ...graph.ranges import apart_across
from ...graph.regions import Block, Leaf
from ..orders.equal import separate
from .meetings import Meetings

MOST_PAIRS = 1 << 13
"""Pairs of accesses of one array in two bodies that are compared; with more, all keep their order."""


@dataclass(frozen=True, slots=True)
class Between:
    """Two bodies, one after the other.

    Attributes:
        same: counters around both that have one value in both.
        step: the counter around both that has grown; None where none has.
        leads: for each way in which accesses differ None where they never meet, else the cycles, at least,
            from one to the other beside those between the bodies.
    """

    before: Block | Leaf
    after: Block | Leaf
    same: frozenset[int]
    step: Node | None
    leads: dict[Hashable, int | None] = field(default_factory=dict)

    def varies(self, node: Node) -> bool:
        """Whether a symbol may differ between the bodies."""
        return node.kind != "arg" and node.number not in self.same


class Swaps:
    """Of one function; they do not depend on its ports and units."""

    def __init__(self) -> None:
        self._meetings = Meetings()
        self._known: dict[tuple[int, int, frozenset[int]], Between] = {}

    def between(
        self,
        before: Block | Leaf,
        after: Block | Leaf,
        carried: frozenset[int],
        counters: Sequence[Node],
    ) -> Between:
        """Two bodies, of which the second one runs after control has gone around the ``carried`` loops.

        Args:
            counters: those of the loops around both, the outermost first.
        """
        key = before.body.number, after.body.number, carried
        if key not in self._known:
            numbers = [counter.number for counter in counters]
            step = next((counter for counter in counters if counter.number in carried), None)
            same = numbers if step is None else numbers[: numbers.index(step.number)]
            self._known[key] = Between(before, after, frozenset(same), step)
        return self._known[key]

    def wait(self, between: Between, earlier: list[Node], later: list[Node], need: int) -> int:
        """Cycles from the last issue of the first body to the first of the second, ``need`` at least, so that
        these accesses of one array keep their order."""
        pairs = _pairs(earlier, later)
        if pairs is None:
            return max(need, max(x.time for x in earlier) + 1 - min(y.time for y in later))
        for x, y in pairs:
            gap = x.time + (x.kind == "store") - y.time
            if gap > need:
                lead = self._lead(between, x.access, y.access)
                need = need if lead is None else max(need, gap - lead)
        return need

    def _lead(self, between: Between, a: Access | None, b: Access | None) -> int | None:
        """What two accesses say of each other: see :class:`Between`."""
        assert a is not None and b is not None
        if not set(a.banks()).intersection(b.banks()):
            return None
        if a.by_bank != b.by_bank:  # subscripts and words of banks are not compared
            return 0
        ways = [
            (x.terms, y.terms, x.const - y.const) for x, y in zip(a.index, b.index, strict=True)
        ]
        key = (a.array.number, a.by_bank, *ways)
        if key not in between.leads:
            between.leads[key] = self._find(between, a, b)
        return between.leads[key]

    def _find(self, between: Between, a: Access, b: Access) -> int | None:
        if _apart(a, b, between):
            return None
        return self._meetings.lead(between.before, between.after, a, b, between.same)


def _pairs(earlier: list[Node], later: list[Node]) -> list[tuple[Node, Node]] | None:
    """Accesses that may be of one bank and not both loads; None where there are too many."""
    if len(earlier) * len(later) <= MOST_PAIRS:
        return [(x, y) for x in earlier for y in later if not _only_read(x, y)]
    of_bank: dict[int, list[Node]] = defaultdict(list)
    for y in later:
        for bank in _banks(y):
            of_bank[bank].append(y)
    found: list[tuple[Node, Node]] = []
    for x in earlier:
        for bank in _banks(x):
            found += [(x, y) for y in of_bank[bank] if not _only_read(x, y)]
        if len(found) > MOST_PAIRS:
            return None
    return found


def _only_read(x: Node, y: Node) -> bool:
    return x.kind == "load" and y.kind == "load"


def _banks(node: Node) -> tuple[int, ...]:
    return node.access.banks() if node.access is not None else ()


def _apart(a: Access, b: Access, between: Between) -> bool:
    """Whether an access of an earlier run of a body is never of the element of one of a later run."""
    for x, y in zip(a.index, b.index, strict=True):
        if separate(x, y) or apart_across(x, y, between.varies):
            return True
        if between.step is not None and _steps_past(x, y, between.step, between.varies):
            return True
    return False


def _steps_past(x: Lin, y: Lin, step: Node, varies: Callable[[Node], bool]) -> bool:
    """Whether two subscripts differ because a counter has grown: ``x = y`` asks for no growth or less."""
    if x.signature != y.signature:
        return False
    factor = 0
    for node, coefficient in x.terms:
        if node is step:
            factor = coefficient
        elif varies(node):
            return False
    if not factor:
        return False
    growth, rest = divmod(x.const - y.const, factor)
    return bool(rest) or growth < 1
