"""Regions that start while those before them drain.

Control leaves a body when its last iteration has been issued and what other bodies read of it is known:
:attr:`~allo.backend.rtl.graph.nodes.Body.hold` cycles after that issue. The rest of the iteration runs on
beside the regions that follow. These wait no longer than they must: for ports and units that are still used,
and for elements that are stored or loaded late. The waits stand where control goes from one region to the
next (:attr:`Seq.waits`, :attr:`Loop.wait`) and at the end of the function (:attr:`Function.drain`). A call
starts when all is done, and lets nothing start before it is.

The state of the analysis says for each body with work left how many cycles ago, at least, its last
iteration was issued, and around which loops control has gone since then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from math import prod

from ...graph.nodes import Access, Body, Lin, Node
from ...graph.prune import children_of, regions_of
from ...graph.ranges import apart_across
from ...graph.regions import Block, Function, If, Leaf, Level, Loop, Region, Seq, While
from ..cycles import counted_runs
from ..dependence import separate
from .meetings import Meetings

MOST_PAIRS = 1 << 13
"""Pairs of accesses of one array in two bodies that are compared; with more, all keep their order."""
MOST_EFFORT = 1 << 17
"""Runs of regions counted to see which bodies drain at no cost; where it takes more, none does."""
type Left = tuple[int, frozenset[int]]
"""A body with work left, by number, and the loops around which control has gone since its last issue."""
type State = dict[Left, int]
"""Cycles, at least, since the last issue."""


def overlap(
    function: Function, cycles: Callable[[], int | None], meetings: Meetings | None = None
) -> None:
    """Set how long control stays in each body, and the waits, in place; ports and units are bound.

    Each body drains before others start where the function, whose ``cycles`` must be known, is no slower so.
    ``meetings`` are those of the function, which do not depend on its ports and units.
    """
    regions = list(regions_of(function.root))
    bodies = [r.body for r in regions if isinstance(r, Block | Leaf)]
    checked = any(n.kind == "check" or n.stream is not None for b in bodies for n in b.nodes)
    known = cycles()
    if known is None or checked or function.streams:
        return
    walks = _Overlap(function.root, meetings or Meetings())

    def takes(draining: frozenset[int]) -> int:
        """Cycles of the function where these bodies drain; holds and waits are set."""
        function.drain = walks.run(function.root, draining)
        return cycles() or known

    draining = frozenset(body.number for body in bodies)
    best = takes(frozenset())
    if best < known:
        draining = frozenset()
        effort = len(bodies) * counted_runs(function.root)
        for body in bodies if effort <= MOST_EFFORT else ():
            found = takes(draining | {body.number})
            if found <= best:
                best, draining = found, draining | {body.number}
    takes(draining)


class _Overlap:
    """Walks the regions of one function."""

    def __init__(self, root: Region, meetings: Meetings) -> None:
        self._bodies: dict[int, Body] = {}
        self._regions: dict[int, Block | Leaf] = {}
        self._meetings = meetings
        self._stays: dict[int, int] = {}
        self._levels: dict[int, tuple[Level, ...]] = {}
        self._uses: dict[int, dict[Hashable, tuple[int, int]]] = {}
        self._accesses: dict[int, dict[int, list[Node]]] = {}
        self._apart: dict[tuple[int, int, frozenset[int]], int] = {}
        self._enter(root, ())

    def run(self, root: Region, draining: frozenset[int]) -> int:
        """Set holds and waits, where bodies of these numbers drain; cycles left at the end."""
        for number, body in self._bodies.items():
            body.hold = body.depth if number in draining else self._stays[number]
        for region in regions_of(root):
            if isinstance(region, Seq):
                region.waits = {}
            if isinstance(region, Loop):
                region.wait = 0
        return self._longest(self.walk(root, {}))

    def _enter(self, region: Region, around: tuple[Level, ...], *, drains: bool = False) -> None:
        """Note of the bodies below a region how long control stays at least, and what they use when."""
        if isinstance(region, Block | Leaf):
            self._note(region, around, drains=drains)
        inside = (*around, region.level) if isinstance(region, Loop) else around
        for child in children_of(region):
            self._enter(child, inside, drains=drains or isinstance(region, While))

    def _note(self, region: Block | Leaf, levels: tuple[Level, ...], *, drains: bool) -> None:
        body, stay = region.body, 1
        if isinstance(region, Leaf):
            stay = body.ii if body.overlaps and region.exit is None else body.depth
        crossing = [node.avail + 1 for node in body.nodes if node.crosses]
        self._bodies[body.number], self._levels[body.number] = body, levels
        self._regions[body.number] = region
        self._stays[body.number] = body.depth if drains else min(body.depth, max([stay, *crossing]))
        uses: dict[Hashable, tuple[int, int]] = {}
        accesses: dict[int, list[Node]] = {}
        for node in body.nodes:
            for use in _bound_uses(node):
                first, last = uses.get(use, (node.time, node.time))
                uses[use] = min(first, node.time), max(last, node.time)
            if node.access is not None and not node.access.array.constant:
                accesses.setdefault(node.access.array.number, []).append(node)
        self._uses[body.number], self._accesses[body.number] = uses, accesses

    # --- control ---------------------------------------------------------------------------

    def walk(self, region: Region, state: State) -> State:
        """The state behind a region that starts in ``state``."""
        match region:
            case Seq():
                for position, child in enumerate(region.children):
                    if position:
                        wait = self._wait(child, state)
                        wait = max(wait, region.waits.get(position, 0))
                        if wait:
                            region.waits[position] = wait
                        state = self._later(state, wait)
                    state = self.walk(child, state)
                return state
            case Block() | Leaf():
                return self._body(region, state)
            case Loop():
                return self._loop(region, state)
            case If():
                taken = self.walk(region.then, state)
                refused = self.walk(region.other, state)
                # A branch without regions takes no cycle before the next pulse.
                return _either(taken, refused)
        return {}

    def _body(self, region: Block | Leaf, state: State) -> State:
        body, least = region.body, region.body.hold
        if isinstance(region, Leaf):
            trips = [level.trips for level in region.levels]
            # A loop whose bounds vary may have no iteration, which takes a cycle.
            certain = prod(n or 1 for n in trips) - 1
            least = 1 if None in trips else certain * body.ii + body.hold
        state = self._later(state, least)
        if body.hold < body.depth:
            state[body.number, frozenset()] = body.hold
        return state

    def _loop(self, loop: Loop, state: State) -> State:
        # What is left from before the loop has waited for all that stands in it (``_firsts``).
        entry: State = {}
        while True:
            after = self.walk(loop.child, entry)
            again: State = {}
            for (number, carried), since in after.items():
                key = number, carried | {loop.level.iv.number}
                again[key] = min(since, again.get(key, since))
            loop.wait = max(loop.wait, self._wait(loop.child, again))
            joined = _either(entry, self._later(again, loop.wait))
            if joined == entry:
                break
            entry = joined
        return _either(after, self._later(state, 1))

    def _later(self, state: State, cycles: int) -> State:
        """The state some cycles on, without what is done by then."""
        return {
            left: since + cycles
            for left, since in state.items()
            if since + cycles < self._bodies[left[0]].depth
        }

    def _longest(self, state: State) -> int:
        """Cycles until all is done."""
        return max((self._bodies[n].depth - since for (n, _), since in state.items()), default=0)

    # --- waits ---------------------------------------------------------------------------------

    def _wait(self, region: Region, state: State) -> int:
        """Cycles to wait before a region starts."""
        wait = 0
        for first in _firsts(region):
            if not isinstance(first, Block | Leaf) or _is_left_early(first):
                wait = max(wait, self._longest(state))
                continue
            for (number, carried), since in state.items():
                apart = self._issues_apart(self._bodies[number], first.body, carried)
                wait = max(wait, apart - since)
        return wait

    def _issues_apart(self, before: Body, after: Body, carried: frozenset[int]) -> int:
        """Cycles from the last issue of a body to the first of another, so that nothing meets or swaps."""
        key = before.number, after.number, carried
        if key not in self._apart:
            need = before.ii if before is after and not before.overlaps else 0
            mine = self._uses[after.number]
            for use, (_, last) in self._uses[before.number].items():
                if use in mine:
                    need = max(need, last + 1 - mine[use][0])
            others = self._accesses[after.number]
            for number, earlier in self._accesses[before.number].items():
                if number in others:
                    pair = (before, earlier), (after, others[number])
                    need = max(need, self._orders(*pair, carried, need))
            self._apart[key] = need
        return self._apart[key]

    def _orders(
        self,
        before: tuple[Body, list[Node]],
        after: tuple[Body, list[Node]],
        carried: frozenset[int],
        need: int,
    ) -> int:
        """The same for accesses of one array, so that they keep their order; ``need`` at least."""
        (first, earlier), (second, later) = before, after
        pairs = _pairs(earlier, later)
        if pairs is None:
            return max(need, max(x.time for x in earlier) + 1 - min(y.time for y in later))
        same, step = self._around(first, second, carried)
        for x, y in pairs:
            gap = x.time + (x.kind == "store") - y.time
            if gap > need and _may_meet(x.access, y.access, same, step):
                lead = self._lead(first, second, x.access, y.access, same)
                need = max(need, gap - lead)
        return need

    def _lead(
        self, before: Body, after: Body, x: Access | None, y: Access | None, same: set[int]
    ) -> int:
        assert x is not None and y is not None
        regions = self._regions[before.number], self._regions[after.number]
        return self._meetings.lead(*regions, x, y, same)

    def _around(
        self, before: Body, after: Body, carried: frozenset[int]
    ) -> tuple[set[int], Node | None]:
        """The counters around two bodies that have one value in both, and the one that has grown."""
        common = _common(self._levels[before.number], self._levels[after.number])
        numbers = [level.iv.number for level in common]
        step = next((level.iv for level in common if level.iv.number in carried), None)
        return set(numbers if step is None else numbers[: numbers.index(step.number)]), step


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


def _may_meet(a: Access | None, b: Access | None, same: set[int], step: Node | None) -> bool:
    """Whether an access of an earlier run of a body may be of the element of one of a later run."""
    assert a is not None and b is not None
    if not set(a.banks()).intersection(b.banks()):
        return False
    return a.by_bank != b.by_bank or not _apart(a, b, same, step)


def _apart(a: Access, b: Access, same: set[int], step: Node | None) -> bool:
    """Whether two accesses never meet, where counters in ``same`` are equal and ``step`` has grown."""

    def varies(node: Node) -> bool:
        return node.kind != "arg" and node.number not in same

    for x, y in zip(a.index, b.index, strict=True):
        if separate(x, y) or apart_across(x, y, varies):
            return True
        if step is not None and _steps_past(x, y, step, varies):
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


def _common(first: tuple[Level, ...], second: tuple[Level, ...]) -> tuple[Level, ...]:
    """The loops around two bodies."""
    found = []
    for a, b in zip(first, second, strict=False):
        if a is not b:
            break
        found.append(a)
    return tuple(found)


def _firsts(region: Region) -> Iterator[Region]:
    """What may run first in a region: of a loop everything, as waits inside are those of each iteration."""
    match region:
        case Seq():
            if region.children:
                yield from _firsts(region.children[0])
        case Loop():
            for inner in regions_of(region.child):
                if not isinstance(inner, Seq | Loop | If):
                    yield inner
        case If():
            yield from _firsts(region.then)
            yield from _firsts(region.other)
        case _:
            yield region


def _is_left_early(region: Block | Leaf) -> bool:
    return isinstance(region, Leaf) and region.exit is not None


def _bound_uses(node: Node) -> Iterator[Hashable]:
    """Ports and units that a node uses in its cycle."""
    access = node.access
    if access is not None and access.array.storage != "reg":
        for bank in access.banks():
            yield access.array.number, bank, access.ports[bank]
    if node.operator is not None and node.operator.latency:
        yield node.operator.module, node.unit


def _either(a: State, b: State) -> State:
    """What may be left on one of two ways."""
    return {**a, **b, **{left: min(a[left], b[left]) for left in a.keys() & b.keys()}}
