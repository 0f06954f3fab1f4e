"""How often loops run and how long regions take, where bounds and constants tell.

Bounds may depend on the counters of outer loops: a triangular nest is counted, each run of an inner
region once for each different value of the counters that bound it. So are conditions around regions that
compare such counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ..graph.linear import subtract
from ..graph.nodes import Lin, Node
from ..graph.regions import Block, Call, If, Leaf, Level, Loop, Region, Seq, While

Values = dict[int, int]
"""Counters of the loops around, by node number."""

LIMIT = 1 << 20
"""Runs of regions counted one by one; a nest that needs more is not predicted."""


def region_cycles(
    region: Region,
    callee_cycles: Callable[[str], int | None],
    values: Mapping[int, int] | None = None,
) -> int | None:
    """Cycles of one run of a region; None where they depend on data.

    ``values``: those of some nodes that bound loops, by number.
    """
    return _Counter(callee_cycles).cycles(region, dict(values or {}))


def counted_runs(region: Region) -> int:
    """Runs of regions that :func:`region_cycles` counts one by one, at least 1."""
    counter = _Counter(lambda _: 0)
    counter.cycles(region, {})
    return LIMIT - counter.left + 1


def leaf_cycles(leaf: Leaf) -> int | None:
    """Cycles of one run of a pipelined or sequential loop."""
    return _leaf_cycles(leaf, {})


def leaf_trips(leaf: Leaf) -> int | None:
    """Iterations of the flattened loop."""
    return None if leaf.exit is not None or not leaf.levels else iterations(leaf.levels)


def iterations(levels: Sequence[Level], values: Values | None = None) -> int | None:
    """Iterations of the innermost of nested loops in one run of the nest; None where data tell."""
    nest = Seq()
    for level in reversed(levels):
        nest = Seq([Loop(level, nest)])
    return _Counter(lambda _: None, per_run=1).cycles(nest, values or {})


def middle_trips(level: Level, unknown: int) -> int:
    """Iterations to reckon with: the middle of what the bounds allow, ``unknown`` where they tell nothing."""
    if level.trips is not None:
        return level.trips
    expected = unknown
    for floor in level.iv.floors:
        for ceiling in level.iv.ceilings:
            fewest, most = subtract(ceiling, floor).bounds()
            middle = (max(0, fewest + 1) + most + 1) // 2
            expected = min(expected, max(1, middle // level.step))
    return expected


def is_slanted(levels: Sequence[Level]) -> bool:
    """Whether a bound of one of nested loops depends on another of them."""
    counters = {level.iv.number for level in levels}
    return any(not counters.isdisjoint(bounding(level)) for level in levels)


def bounding(level: Level) -> set[int]:
    """Numbers of the symbols that bound a loop."""
    bounds = (*level.iv.floors, *level.iv.ceilings)
    return {node.number for bound in bounds for node, _ in bound.terms}


def span(level: Level, values: Values) -> range | None:
    """The counter's values in one run of a loop; None where bounds depend on more than ``values``, or the
    step is none of compile time."""
    if level.trips is not None:
        return range(level.trips)
    lower = [value_of(floor, values) for floor in level.iv.floors]
    upper = [value_of(ceiling, values) for ceiling in level.iv.ceilings]
    lows = [v for v in lower if v is not None]
    highs = [v for v in upper if v is not None]
    if not lower or not upper or len(lows) < len(lower) or len(highs) < len(upper):
        return None
    if level.stride is not None:
        return None
    if level.counts:
        return range(max(lows), min(highs) // level.iv.stride + 1)
    return range(max(lows), min(highs) + 1, level.step)


_RELATIONS: tuple[Callable[[int], bool], ...] = (
    lambda d: d == 0,
    lambda d: d != 0,
    lambda d: d < 0,
    lambda d: d <= 0,
    lambda d: d > 0,
    lambda d: d >= 0,
)
"""What a comparison holds a difference to be, by its number in ``Node.test``."""
_JOINED = {"arith.andi": all, "arith.ori": any}


def decided(condition: Node, values: Values) -> bool | None:
    """Whether a condition holds; None where it depends on more than ``values``."""
    if condition.test is not None:
        relation, difference = condition.test
        value = value_of(difference, values)
        return None if value is None else _RELATIONS[relation](value)
    if condition.kind == "const":
        return bool(condition.data)
    if condition.op in _JOINED and condition.width == 1:
        parts = [decided(each, values) for each in condition.operands]
        if None not in parts:
            return _JOINED[condition.op](parts)
    return None


def compared(condition: Node) -> Iterator[set[int]]:
    """The numbers of the symbols in each comparison that a condition is made of."""
    if condition.test is not None:
        yield {node.number for node, _ in condition.test[1].terms}
    elif condition.op in _JOINED:
        for each in condition.operands:
            yield from compared(each)


def value_of(expression: Lin, values: Values) -> int | None:
    """What an expression is; None where it depends on more than ``values``."""
    total = expression.const
    for node, factor in expression.terms:
        found = _of_node(node, values)
        if found is None:
            return None
        total += factor * found
    return total


def _of_node(node: Node, values: Values) -> int | None:
    """The value of a counter, or of a quotient or a remainder of counters."""
    if node.number in values:
        return values[node.number]
    made = _made_of(node)
    inner = None if made is None else value_of(made[0], values)
    return None if made is None or inner is None else made[1](inner)


def _made_of(node: Node) -> tuple[Lin, Callable[[int], int]] | None:
    """The linear expression that an integer is made of, and how; None of what is known at run time."""
    if node.quotient_of is not None:
        dividend, divisor = node.quotient_of
        return dividend, lambda value: value // divisor
    if node.rest_of is not None:
        dividend, modulus = node.rest_of
        return dividend, lambda value: value % modulus
    if node.kind != "wire" or not node.data or node.data[0] not in ("slice", "zext"):
        return None
    (word,) = node.operands
    whole = word.data if word.kind == "lin" else Lin(0, ((word, 1),))
    if whole.bounds()[0] < 0:
        return None
    cut = node.data[1] if node.data[0] == "slice" else 0
    return whole, lambda value: (value % (1 << word.width) >> cut) % (1 << node.width)


def _roots(expression: Lin) -> Iterator[int]:
    """The numbers of the symbols that an expression is made of, behind quotients and remainders too."""
    for node, _ in expression.terms:
        yield node.number
        made = _made_of(node)
        if made is not None:
            yield from _roots(made[0])


def _leaf_cycles(leaf: Leaf, values: Values) -> int | None:
    if leaf.exit is not None or not leaf.levels:
        return None
    trips = runs = 1
    if is_slanted(leaf.levels):
        total = iterations(leaf.levels, values)
        return None if total is None else (total - 1) * leaf.body.ii + leaf.body.stay
    for position, level in enumerate(leaf.levels):
        found = span(level, values)
        if found is None:
            return None
        trips *= len(found)
        runs *= len(found) if position < leaf.outer else 1
    if not trips:
        return 1
    return (trips - 1) * leaf.body.ii + (runs - 1) * leaf.gap + leaf.body.stay


class _Counter:
    """Counts one tree of regions.

    Args:
        per_run: what an empty sequence counts; a nest around one has as much for each iteration.
    """

    def __init__(self, callee_cycles: Callable[[str], int | None], per_run: int = 0) -> None:
        self._callee_cycles = callee_cycles
        self._per_run = per_run
        self.left = LIMIT
        self._bounding: dict[int, frozenset[int]] = {}
        self._known: dict[tuple[int, ...], int | None] = {}

    def cycles(self, region: Region, values: Values) -> int | None:
        """Cycles of one run, given the counters around."""
        match region:
            case Seq():
                parts = [self.cycles(child, values) for child in region.children]
                if not parts:
                    return self._per_run
                waits = sum(region.waits.values())
                return None if None in parts else sum(p for p in parts if p is not None) + waits
            case Block():
                return region.body.stay
            case Leaf():
                return _leaf_cycles(region, values)
            case Loop():
                return self._loop(region, values)
            case If():
                holds = decided(region.condition, values)
                if holds is None:
                    return None
                branch = region.then if holds else region.other
                # A branch without regions takes the cycle in which the condition is looked at.
                return self.cycles(branch, values) if branch.children else 1 - self._per_run
            case Call():
                inner = self._callee_cycles(region.callee)
                return None if inner is None else inner + 1
        return None

    def _loop(self, loop: Loop, values: Values) -> int | None:
        found = span(loop.level, values)
        if found is None or loop.guard is not None:
            return None
        if not found:
            # The cycle in which the loop finds that it does not run.
            return 1 if not self._per_run else 0
        counter = loop.level.iv.number
        if counter not in self._symbols(loop.child):
            inner = self.cycles(loop.child, values)
            return None if inner is None else len(found) * (inner + loop.wait) - loop.wait
        total = (len(found) - 1) * loop.wait
        for value in found:
            inner = self._once(loop.child, {**values, counter: value})
            if inner is None:
                return None
            total += inner
        return total

    def _once(self, child: Seq, values: Values) -> int | None:
        """Cycles of a loop's child, found once for equal values of what bounds loops in it."""
        used = sorted(self._symbols(child))
        key = (id(child), *(values.get(number, 0) for number in used))
        if key not in self._known:
            self.left -= 1
            self._known[key] = self.cycles(child, values) if self.left > 0 else None
        return self._known[key]

    def _symbols(self, region: Region) -> frozenset[int]:
        """Numbers of the symbols that bound loops inside."""
        found = self._bounding.get(id(region))
        if found is None:
            found = self._bounding[id(region)] = frozenset(self._find_symbols(region))
        return found

    def _find_symbols(self, region: Region) -> set[int]:
        children: list[Region] = []
        levels: list[Level] = []
        deciding: set[int] = set()
        match region:
            case Seq():
                children = region.children
            case Loop():
                children, levels = [region.child], [region.level]
            case Leaf():
                levels = region.levels
            case If():
                children = [region.then, region.other]
                deciding = {number for lin in compared(region.condition) for number in lin}
            case While():
                children = [region.test, region.child]
        found = {
            number
            for level in levels
            for bound in (*level.iv.floors, *level.iv.ceilings)
            for number in _roots(bound)
        }
        return found.union(deciding, *(self._symbols(child) for child in children))
