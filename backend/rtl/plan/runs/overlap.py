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

from collections.abc import Callable, Hashable, Iterator
from math import prod

from ...graph.nodes import Body, Node
from ...graph.prune import children_of, regions_of
from ...graph.regions import Block, Function, If, Leaf, Level, Loop, Region, Seq, While
from ..cycles import counted_runs
from .swaps import Between, Swaps

MOST_EFFORT = 1 << 17
"""Runs of regions counted to see which bodies drain at no cost; where it takes more, none does."""
type Left = tuple[int, frozenset[int]]
"""A body with work left, by number, and the loops around which control has gone since its last issue."""
type State = dict[Left, int]
"""Cycles, at least, since the last issue."""


def overlap(
    function: Function, cycles: Callable[[], int | None], swaps: Swaps | None = None
) -> None:
    """Set how long control stays in each body, and the waits, in place; ports and units are bound.

    Each body drains before others start where the function, whose ``cycles`` must be known, is no slower so.
    ``swaps`` are those of the function.
    """
    regions = list(regions_of(function.root))
    bodies = [r.body for r in regions if isinstance(r, Block | Leaf)]
    checked = any(n.kind == "check" or n.stream is not None for b in bodies for n in b.nodes)
    known = cycles()
    if known is None or checked or function.streams:
        return
    walks = _Overlap(function.root, swaps or Swaps())

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


def starts(function: Function) -> Callable[[], None]:
    """What sets holds and waits back to what they are now."""
    regions = list(regions_of(function.root))
    holds = [(r.body, r.body.hold) for r in regions if isinstance(r, Block | Leaf)]
    waits = [(r, r.waits) for r in regions if isinstance(r, Seq)]
    again = [(r, r.wait) for r in regions if isinstance(r, Loop)]
    drain = function.drain

    def put_back() -> None:
        function.drain = drain
        for body, hold in holds:
            body.hold = hold
        for seq, cycles in waits:
            seq.waits = cycles
        for loop, wait in again:
            loop.wait = wait

    return put_back


class _Overlap:
    """Walks the regions of one function."""

    def __init__(self, root: Region, swaps: Swaps) -> None:
        self._bodies: dict[int, Body] = {}
        self._regions: dict[int, Block | Leaf] = {}
        self._swaps = swaps
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
        crossing += [n.operator.initiation_interval for n in body.nodes if n.operator is not None]
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
            others, between = self._accesses[after.number], self._between(before, after, carried)
            for number, earlier in self._accesses[before.number].items():
                if number in others:
                    need = self._swaps.wait(between, earlier, others[number], need)
            self._apart[key] = need
        return self._apart[key]

    def _between(self, before: Body, after: Body, carried: frozenset[int]) -> Between:
        common = _common(self._levels[before.number], self._levels[after.number])
        regions = self._regions[before.number], self._regions[after.number]
        return self._swaps.between(*regions, carried, [level.iv for level in common])


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
