"""Orders between memory accesses of a body, within an iteration and across iterations.

Distances count flattened iterations of the nest and are exact where both subscripts have the
same coefficients; anything else is assumed to meet in the next iteration unless ranges exclude it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from math import gcd

from allo.dialects.affine.asserted import KINDS

from ...graph.conditions import exclude
from ...graph.nodes import Body, Edge, Lin, Node
from ...graph.ranges import apart_across
from ...graph.regions import Level
from ..cycles import iterations
from ..turns.remainders import modular_row
from .equal import may_equal, separate
from .groups import groups
from .guarded import Guarded
from .order import Orders
from .slant import UNBOUNDED, slant_of
from .streams import stream_edges

type Row = tuple[tuple[int, ...], int, int]
"""An equation: coefficients times the distances of the levels are ``right``, up to multiples of a modulus
where that is not 0."""

SEARCH_LIMIT = 20000


def add_edges(
    body: Body,
    levels: list[Level],
    carried: bool,
    *,
    bypass: int = 0,
    past: bool = False,
    distances: Distances | None = None,
) -> None:
    """Fill ``body.edges`` from its memory accesses.

    Args:
        levels: the loops whose iterations follow each other.
        carried: whether iterations overlap.
        bypass: cycles in which a load may take its value from a store: 1, its own; 2, also the next; 3, also
            that in which its word is there.
        past: whether a load of a register may take what a store computes in the same cycle.
        distances: how accesses of the body meet in these levels, where that was asked before.
    """
    body.edges = stream_edges(body, carried)
    by_array: dict[int, list[Node]] = defaultdict(list)
    for node in body.nodes:
        if node.access is not None and node.kind in ("load", "store"):
            by_array[node.access.array.number].append(node)
    distances = distances or Distances(body, levels)
    key = carried, bypass, past
    found = distances.orders.get(key)
    least = distances.least if carried else None
    made: list[Edge] = []
    for nodes in by_array.values():
        stored = any(n.kind == "store" for n in nodes)
        for node in nodes:
            if node.access is not None:
                in_memory = stored and node.access.array.read_latency == 1
                node.access.late = bypass >= 2 and node.kind == "load" and in_memory
                node.access.prompt = bypass == 3 and node.access.late
        for group in groups(nodes) if stored and found is None else []:
            orders = Orders(
                group,
                distances.meet,
                least,
                bypass=bypass > 0,
                past=past,
                alike=distances.alike,
            )
            made += orders.edges()
    body.edges += distances.orders.setdefault(key, made)
    forwarded = {edge.target.number for edge in body.edges if edge.bypass}
    for nodes in by_array.values():
        for node in nodes:
            if node.access is not None:
                node.access.forwarded = node.number in forwarded
                node.access.late = node.access.late and node.access.forwarded
                node.access.prompt = node.access.prompt and node.access.forwarded


class Distances:
    """Least distances, in flattened iterations, at which accesses of a nest meet again."""

    def __init__(self, body: Body, levels: list[Level]) -> None:
        self._body = body
        self._position = {level.iv.number: i for i, level in enumerate(levels)}
        self._steps = [1 if level.counts else level.step for level in levels]
        self._unknown = [level.stride is not None for level in levels]
        slants = [slant_of(levels, i) for i in range(len(levels))]
        self._slanted = any(slants)
        self._trips = [
            slant.most if slant else level.trips or UNBOUNDED
            for level, slant in zip(levels, slants, strict=True)
        ]
        self._strides = [1] * len(levels)
        """Iterations from one of a level to the next, at least."""
        self._backward = [1] * len(levels)
        """The same, at most."""
        for i in reversed(range(len(levels) - 1)):
            slant, trips = slants[i + 1], self._trips[i + 1]
            followed = slant.followed if slant else (trips, trips)
            self._strides[i] = self._strides[i + 1] * followed[0]
            self._backward[i] = self._backward[i + 1] * followed[1]
            whole = iterations(levels[i + 1 :]) if self._slanted and not slants[i + 1] else None
            if whole is not None:
                self._strides[i] = self._backward[i] = whole
        inner = [i for i, level in enumerate(levels) if i and level.trips is None and not slants[i]]
        self._below = max(inner, default=0)
        """Levels from here on have known distances; one outside a bound of run time has not."""
        self._asserted = [(level.asserted, level.copies) for level in levels]
        self._no_floors = (1,) * len(levels)
        self._equal: dict[tuple[Lin, Lin], bool] = {}
        self._met: dict[tuple[int, int], bool] = {}
        self._rows: dict[tuple[Lin, Lin], tuple[Row | None, bool] | None] = {}
        self._between: dict[tuple[int, int], tuple[tuple[Row, ...], bool] | None] = {}
        self._subscripts: dict[int, int] = {}
        self._numbers: dict[object, int] = {}
        self._solved: dict[tuple[object, ...], int | None] = {}
        self._alike: dict[int, int] = {}
        self._kinds: dict[object, int] = {}
        self._meetings: dict[tuple[int, int], bool] = {}
        self._least: dict[tuple[int, int], int | None] = {}
        self.orders: dict[tuple[bool, int, bool], list[Edge]] = {}
        """The edges that were found, by whether iterations overlap and by what loads take from stores."""
        self._stored = {
            node.access.array.number
            for node in body.nodes
            if node.kind == "store" and node.access is not None
        }
        self._guarded = Guarded(body, levels, self._varies)

    def alike(self, node: Node) -> int:
        """What of an access says which others it meets."""
        found = self._alike.get(node.number)
        if found is None:
            access = node.access
            assert access is not None
            key = access.index, access.needed, access.asserted, node.kind
            found = self._alike[node.number] = self._kinds.setdefault(key, len(self._kinds))
        return found

    def subscript(self, node: Node) -> int:
        """A number that accesses of one subscript have."""
        found = self._subscripts.get(node.number)
        if found is None:
            assert node.access is not None
            number = self._numbers.setdefault(node.access.index, len(self._numbers))
            found = self._subscripts[node.number] = number
        return found

    def meet(self, first: Node, second: Node) -> bool:
        """Whether two accesses of one iteration may be of one element."""
        key = self.alike(first), self.alike(second)
        if key not in self._meetings:
            a, b = first.access, second.access
            assert a is not None and b is not None
            between = self.subscript(first), self.subscript(second)
            if between not in self._met:
                self._met[between] = self._may_meet(a.index, b.index)
            self._meetings[key] = (
                self._met[between]
                and not exclude(a.needed, b.needed)
                and self._guarded.meet(a, b, between)
            )
        return self._meetings[key]

    def _may_meet(self, a: Sequence[Lin], b: Sequence[Lin]) -> bool:
        """Whether two subscripts of one iteration may name the same element."""
        equal = self._equal
        for pair in zip(a, b, strict=True):
            if pair not in equal:
                equal[pair] = may_equal(*pair)
            if not equal[pair]:
                return False
        return True

    def least(self, first: Node, second: Node) -> int | None:
        """The smallest d > 0 with element(first, n) = element(second, n + d); None if none."""
        key = self.alike(first), self.alike(second)
        if key not in self._least:
            self._least[key] = self._found_least(first, second)
        return self._least[key]

    def _found_least(self, first: Node, second: Node) -> int | None:
        source, target = first.access, second.access
        assert source is not None and target is not None
        between = self.subscript(first), self.subscript(second)
        if between not in self._between:
            self._between[between] = self._rows_between(source.index, target.index)
        asked = self._between[between]
        if asked is None:
            return None
        rows, exact = asked
        floors = self._floors(first, second)
        key = (rows, exact, floors)
        if key not in self._solved:
            self._solved[key] = self._solve(rows, floors)
        distance = self._solved[key]
        guarded = None if distance is None else self._guarded.least(source, target, between)
        return None if distance is None or guarded is None else max(distance, guarded)

    def _rows_between(
        self, a: Sequence[Lin], b: Sequence[Lin]
    ) -> tuple[tuple[Row, ...], bool] | None:
        """What equal subscripts ask, and whether that is all; None where they are never equal."""
        rows: list[Row] = []
        exact = True
        for pair in zip(a, b, strict=True):
            if pair not in self._rows:
                self._rows[pair] = self._row_between(*pair)
            found = self._rows[pair]
            if found is None:
                return None
            exact = exact and found[1]
            if found[0] is not None:
                rows.append(found[0])
        return tuple(rows), exact

    def _row_between(self, x: Lin, y: Lin) -> tuple[Row | None, bool] | None:
        """What equal index values ask, and whether that is all; None where they are never equal."""
        row = self._row(x, y)
        if row is not None:
            return row, True
        if separate(x, y) or apart_across(x, y, self._varies):
            return None
        return self._row_of_remainders(x, y), False

    def _floors(self, first: Node, second: Node) -> tuple[int, ...]:
        """The least distances that each level carries, as the user asserts; 0 where it carries none."""
        source, target = first.access, second.access
        assert source is not None and target is not None
        both = source.asserted & target.asserted
        if not both:
            return self._no_floors
        floors = list(self._no_floors)
        writes = first.kind == "store", second.kind == "store"
        kind = next(name for name, ends in KINDS.items() if ends == writes)
        for level, (assertions, copies) in enumerate(self._asserted):
            for a in assertions:
                if a.number not in both or not a.covers(kind) or not floors[level]:
                    continue
                least = a.least(copies)
                floors[level] = max(floors[level], least) if least else 0
        return tuple(floors)

    def _varies(self, node: Node) -> bool:
        """Whether a symbol may differ between iterations.

        What a register holds that the body never stores to does not.
        """
        if node.body is not self._body:
            return node.number in self._position
        access = node.access
        if node.kind == "wire":
            return any(self._varies(operand) for operand in node.operands)
        if node.kind != "load" or access is None or access.array.storage != "reg":
            return True
        kept = access.array.private is None and access.array.number not in self._stored
        return not kept or not all(index.is_const for index in access.index)

    def _row(self, x: Lin, y: Lin) -> Row | None:
        """One equation ``coefficients * delta = right`` or None where the subscripts differ in kind."""
        if x.signature != y.signature:
            return None
        coefficients = [0] * len(self._trips)
        for node, factor in x.terms:
            position = self._position.get(node.number)
            if position is not None:
                coefficients[position] = factor * self._steps[position]
            elif self._varies(node):
                return None
        return self._told(coefficients, (x.const - y.const, 0))

    def _told(self, coefficients: list[int], rest: tuple[int, int]) -> Row | None:
        """An equation, unless the unknown step of a level has a part in it.

        That level stands still where nothing else moves and nothing is to be made up for.
        """
        moving = [position for position, factor in enumerate(coefficients) if factor]
        if any(self._unknown[p] for p in moving) and (len(moving) > 1 or any(rest)):
            return None
        return tuple(coefficients), *rest

    def _row_of_remainders(self, x: Lin, y: Lin) -> Row | None:
        """What subscripts with remainders ask, up to multiples of a modulus; None where they ask nothing."""

        def step(node: Node) -> int:
            position = self._position.get(node.number)
            return 0 if position is None else self._steps[position]

        found = modular_row(x, y, self._varies, step)
        if found is None or found[2] == 1:
            return None
        coefficients = [0] * len(self._trips)
        for number, factor in found[0].items():
            coefficients[self._position[number]] = factor
        return self._told(coefficients, found[1:])

    def _solve(self, rows: Sequence[Row], floors: tuple[int, ...]) -> int | None:
        for coefficients, right, step in rows:
            for c in coefficients:
                step = gcd(step, c)
            if (step == 0 and right) or (step and right % step):
                return None
        budget = [SEARCH_LIMIT]
        for level in range(self._below):
            if self._carried(level, rows, floors, budget) or budget[0] <= 0:
                return 1
        distance = self._search(self._below, rows, floors, False, budget)
        if distance is not None and self._slanted:
            distance = max(1, distance)
        return 1 if budget[0] <= 0 else distance

    def _carried(
        self,
        level: int,
        rows: Sequence[Row],
        floors: tuple[int, ...],
        budget: list[int],
    ) -> bool:
        """Whether a delta exists that is 0 outside ``level`` and positive there."""
        for value in self._possible(level, rows, floors, False):
            budget[0] -= 1
            if budget[0] <= 0:
                return False
            left = [(c, right - c[level] * value, m) for c, right, m in rows]
            if value == 0 or not all(self._reachable(level + 1, *row) for row in left):
                continue
            if self._search(level + 1, left, floors, True, budget) is not None:
                return True
        return False

    def _search(
        self,
        level: int,
        rows: Sequence[Row],
        floors: tuple[int, ...],
        positive: bool,
        budget: list[int],
    ) -> int | None:
        """The least positive distance of the levels from ``level`` on.

        What the levels inside add is less than one iteration of this one: where an iteration count
        has an answer, the next one may have a smaller, and no later one.
        """
        if level == len(self._trips):
            met = all(right % m == 0 if m else right == 0 for _, right, m in rows)
            return 0 if positive and met else None
        best, last = None, None
        for value in self._possible(level, rows, floors, positive):
            if last is not None and value > last and not self._slanted:
                break
            budget[0] -= 1
            if budget[0] <= 0:
                return None
            left = [(c, right - c[level] * value, m) for c, right, m in rows]
            if not all(self._reachable(level + 1, *row) for row in left):
                continue
            rest = self._search(level + 1, left, floors, positive or value > 0, budget)
            if rest is None:
                continue
            distance = value * (self._strides if value > 0 else self._backward)[level] + rest
            best = distance if best is None else min(best, distance)
            last = value + 1 if last is None else last
        return best

    def _possible(
        self,
        level: int,
        rows: Sequence[Row],
        floors: tuple[int, ...],
        positive: bool,
    ) -> Iterable[int]:
        """Distances of one level that may solve every row, without those that the user excludes."""
        found = self._candidates(level, rows, positive, self._trips[level] - 1)
        floor = floors[level]
        if positive or floor == 1:
            return found
        if isinstance(found, range):
            return chain(found[:1] if 0 in found else (), _from(found, floor) if floor else ())
        return [value for value in found if not value or (floor and value >= floor)]

    def _candidates(
        self, level: int, rows: Sequence[Row], positive: bool, reach: int
    ) -> Sequence[int]:
        """Distances of one level that may solve every row, the least first."""
        low, high = (-reach if positive else 0), reach
        last = [all(x == 0 for x in c[level + 1 :]) for c, _, _ in rows]
        first, period = low, 1
        for (c, right, modulus), final in zip(rows, last, strict=True):
            if final and modulus:
                found = _solutions(c[level], right, modulus)
                if found is None:
                    return ()
                if found[1] > period:
                    first, period = low + (found[0] - low) % found[1], found[1]
            elif final and c[level]:
                if right % c[level]:
                    return ()
                value = right // c[level]
                return (value,) if low <= value <= high else ()
        return range(first, high + 1, period)

    def _reachable(
        self, level: int, coefficients: tuple[int, ...], right: int, modulus: int
    ) -> bool:
        if modulus:
            return True
        most = sum(
            abs(c) * (t - 1) for c, t in zip(coefficients[level:], self._trips[level:], strict=True)
        )
        return abs(right) <= most


def _solutions(factor: int, right: int, modulus: int) -> tuple[int, int] | None:
    """The v with ``factor * v`` equal to ``right`` up to a multiple of a modulus: one, and their period."""
    common = gcd(factor, modulus)
    if right % common:
        return None
    period = modulus // common
    return right // common * pow(factor // common, -1, period) % period, period


def _from(values: range, least: int) -> range:
    """The values of a range, which grows, from ``least`` on."""
    missing = max(0, -(-(least - values.start) // values.step))
    return range(values.start + missing * values.step, values.stop, values.step)
