"""The search for the best schedule of one loop: how many levels it takes in, and at which interval."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from math import prod

from allo.dialects.ranges.interval import INDEX_BITS

from ...graph.nodes import Body, Node
from ...graph.regions import Leaf, Level, Loop, Region, Seq
from ..exits import exit_edges, guess, settle_exit
from ..explain import resource_limit
from ..mapped import Mapped, recurrent
from ..modulo import Scheduler, Times, depth_of, is_large, restore, times_of
from ..orders.dependence import Distances, add_edges
from ..orders.hoist import runs_of
from ..orders.slant import UNBOUNDED
from ..port_bounds import gates_help, joining_helps, port_bound, ports_of
from ..runs.rewind import can_rewind, gap_between_runs
from ..share import gate_loads, join_streams
from ..timing_model import TimingModel
from ..turns.rotation import rotate
from .interval import Least, least_interval
from .quick import join, quicken

NEVER = 1 << 60
"""Cycles of what cannot be scheduled."""


@dataclass(slots=True)
class _Choice:
    """A schedule found for a leaf whose first ``outer`` levels stay loops around it; none without times."""

    outer: int
    ii: int
    depth: int
    cycles: int
    limit: str
    bypass: int
    gated: bool = False
    joined: bool = False
    mapped: bool = False
    past: bool = False
    """Whether loads of registers take what is on its way there."""
    waits: bool = False
    """Whether waits for ports hold the interval, and recurrences alone would allow a smaller one."""
    times: Times = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    """The search for the best schedule of one leaf.

    Attributes:
        most: no interval above it is of use; None for no limit.
        known: how accesses meet, by the number of levels that stay outside.
        bounds: what ports allow, by that number and by what shares them.
    """

    leaf: Leaf
    timing: TimingModel
    most: int | None
    known: dict[int, Distances] = field(default_factory=dict)
    bounds: dict[tuple[int, bool, bool], tuple[int, Hashable | None, int]] = field(
        default_factory=dict
    )

    def plan(self) -> Region:
        """Schedule the leaf; it may move levels into loops around it."""
        leaf = self.leaf
        best, choices = self._quickened(*self._taken())
        leaf.limit = best.limit
        keep_bypasses(leaf.body)
        if self._rewinds(choices, best):
            return leaf
        if self.timing.improve is not None:
            best = self._improved(best, self.timing.improve)
        leaf.remake = self._kept(best)
        outer, leaf.levels = leaf.levels[: best.outer], leaf.levels[best.outer :]
        region: Region = leaf
        for level in reversed(outer):
            region = Loop(level, Seq([region]), band=leaf.band)
        return region

    def _kept(self, best: _Choice) -> Callable[[], None]:
        """What makes the schedule again that was found, where the leaf has its nodes and levels of now."""
        leaf, limit = self.leaf, self.leaf.limit
        operators = [node.operator for node in leaf.body.nodes]

        def remake() -> None:
            for node, operator in zip(leaf.body.nodes, operators, strict=True):
                node.operator = operator
            self._forget_orders()
            self._again(best)
            leaf.limit = limit
            keep_bypasses(leaf.body)

        return remake

    def _improved(self, best: _Choice, improve: Callable[..., int | None]) -> _Choice:
        """The best choice with the best schedule that an exact search finds for it."""
        leaf, body = self.leaf, self.leaf.body
        around = Mapped(body, self.timing) if best.mapped else None
        scheduler = Scheduler(body, self.timing, mapped=around)
        least = max(leaf.asked or 1, port_bound(body)[0])
        name, place = "*".join(level.name for level in leaf.levels), leaf.place
        ii = improve(scheduler, ports_of(body), best.ii, least=least, name=name, place=place)
        found = self._again(replace(best, ii=ii or best.ii, times=times_of(body)))
        if found.cycles > best.cycles:
            found = self._again(best)
        if found.ii < best.ii:
            held = best.limit.replace(f"II={best.ii}:", f"II={found.ii}:")
            leaf.limit = held if found.ii > (leaf.asked or 1) else ""
        keep_bypasses(body)
        return found

    def _taken(self) -> tuple[_Choice, list[_Choice]]:
        """The best choice, which the body is as, and all that were tried."""
        best, choices = self._best()
        if best is not choices[-1]:
            self._again(best)
        return best, choices

    def _quickened(self, best: _Choice, choices: list[_Choice]) -> tuple[_Choice, list[_Choice]]:
        """The choices with quick units on recurrences, where these make the interval shorter."""
        body = self.leaf.body
        for change in (quicken, join):
            if best.ii <= max(self.leaf.asked or 1, port_bound(body)[0]):
                break
            undo = change(body, self.timing)
            if undo is None:
                continue
            self._forget_orders()
            found = self._taken()
            if found[0].ii < best.ii:
                best, choices = found
            else:
                undo()
                self._forget_orders()
                self._again(best)
        return best, choices

    def _forget_orders(self) -> None:
        """Find the edges of the body again: what a load can take past a register depends on its operators."""
        for distances in self.known.values():
            distances.orders.clear()
        self.bounds.clear()

    def _best(self) -> tuple[_Choice, list[_Choice]]:
        """The best choice, and all that were tried; the body is as the last one leaves it."""
        leaf, timing, choose = self.leaf, self.timing, self._choose
        choices = [choose(0)]
        floor = max(leaf.asked or 1, port_bound(leaf.body)[0])
        outers = range(max(1, len(leaf.levels)))
        if choices[0].ii > floor:
            choices += [choose(outer) for outer in outers if outer]
            # The whole nest comes last: what it forwards tells whether late loads help.
            choices += [choose(outer, bypass=1) for outer in outers[::-1]]
        best = min(choices, key=lambda c: (c.cycles, c.bypass))
        if (best.ii > floor or best.outer) and _late_helps(leaf.body, timing):
            late = max(floor, best.ii - 1)
            choices += [choose(outer, bypass=2, most=late) for outer in outers]
            best = min(choices, key=lambda c: (c.cycles, c.bypass))
        if best.ii > (leaf.asked or 1) and gates_help(leaf.body, best.ii):
            for bypass in (0, 1):
                choices += [choose(outer, bypass=bypass, gated=True) for outer in outers]
            best = min(choices, key=lambda c: (c.cycles, c.gated, c.bypass))
        if best.ii > (leaf.asked or 1) and joining_helps(leaf.body, best.ii):
            most = best.ii - 1
            for bypass, gated in ((0, False), (1, False), (0, True), (1, True)):
                choices += [
                    choose(outer, bypass=bypass, gated=gated, joined=True, most=most)
                    for outer in outers
                ]
            shorter = [c for c in choices if not c.joined or c.ii < best.ii]
            best = min(shorter, key=lambda c: (c.cycles, c.joined, c.gated, c.bypass))
        recurs = not (best.waits and is_large(leaf.body))
        if best.ii > floor and recurs and Mapped(leaf.body, timing).helps:
            # The best one again, from the least interval on.
            found = self._again(replace(best, ii=0, mapped=True, times=[]), most=best.ii - 1)
            choices += [found]
            best = found if found.ii < best.ii else best
        if best.ii > floor and recurs and past_helps(leaf.body):
            mapped = best.mapped or Mapped(leaf.body, timing).helps
            way = replace(best, ii=0, mapped=mapped, past=True, times=[])
            passed = [self._again(replace(way, outer=k), most=best.ii - 1) for k in outers]
            choices += passed
            best = min([best, *passed], key=lambda c: c.cycles)
        if best.ii > floor and best.bypass and recurs and leaf.exit is None:
            way = replace(best, ii=0, bypass=3, times=[])
            choices += [self._again(replace(way, outer=k), most=best.ii - 1) for k in outers]
            best = min([best, *choices[-len(outers) :]], key=lambda c: c.cycles)
        return best, choices

    def _rewinds(self, choices: list[_Choice], best: _Choice) -> bool:
        """Let the outer levels run on while the pipeline drains, if that is asked for and faster."""
        leaf = self.leaf
        plain = [c for c in choices if c.outer and not (c.bypass or c.gated or c.joined)]
        if not plain or not can_rewind(leaf):
            return False
        found = min(plain, key=lambda c: c.cycles)
        self._again(found)
        gap = gap_between_runs(leaf)
        trips = [level.trips or 1 for level in leaf.levels]
        runs = prod(trips[: found.outer])
        if gap is not None and found.cycles < NEVER:
            cycles = (prod(trips) - 1) * found.ii + (runs - 1) * gap + leaf.body.depth
            if cycles < best.cycles:
                leaf.outer, leaf.gap, leaf.limit = found.outer, gap, found.limit
                keep_bypasses(leaf.body)
                return True
        self._again(best)
        keep_bypasses(leaf.body)
        return False

    def _again(self, choice: _Choice, *, most: int | None = None) -> _Choice:
        """Make one of the choices again, after others: with its times, or from its interval on."""
        return self._choose(
            choice.outer,
            bypass=choice.bypass,
            gated=choice.gated,
            joined=choice.joined,
            mapped=choice.mapped,
            past=choice.past,
            again=choice,
            most=most,
        )

    def _choose(
        self,
        outer: int,
        *,
        bypass: int = 0,
        gated: bool = False,
        joined: bool = False,
        mapped: bool = False,
        past: bool = False,
        again: _Choice | None = None,
        most: int | None = None,
    ) -> _Choice:
        """Schedule the leaf with its first ``outer`` levels left out.

        No interval above ``most`` is tried: where none is found, it takes more cycles than any other.
        """
        leaf, body = self.leaf, self.leaf.body
        most = self.most if most is None else most
        levels = leaf.levels[outer:] or [_turns()]
        if leaf.exit is not None:
            guess(body, leaf.exit)
        gate_loads(body, gated)
        join_streams(body, joined)
        rotate(body, levels, leaf)
        if outer not in self.known:
            self.known[outer] = Distances(body, levels)
        known = self.known[outer]
        add_edges(body, levels, carried=True, bypass=bypass, past=past, distances=known)
        if leaf.exit is not None:
            body.edges += exit_edges(body, leaf.exit)
        if again is not None and again.times:
            restore(body, again.times)
            least = Least(again.ii, again.limit, again.waits)
        else:
            key = outer, gated, joined
            if key not in self.bounds:
                self.bounds[key] = port_bound(body)
            least = self._scheduled(
                again.ii if again is not None else 0, mapped, most, self.bounds[key]
            )
        ii = least.ii
        body.ii, body.overlaps = ii, True
        found = most is None or ii <= most
        times = times_of(body) if found else []
        # An iteration lasts an interval at least: then its loop's counters move on.
        body.depth = max(ii, depth_of(body))
        if leaf.exit is not None:
            body.depth = max(body.depth, settle_exit(body, leaf.exit))
        follow, runs = runs_of(levels) - 1, runs_of(leaf.levels[:outer])
        cycles = runs * (follow * ii + body.depth) if found else NEVER
        return _Choice(
            outer,
            ii,
            body.depth,
            cycles,
            least.why,
            bypass,
            gated,
            joined,
            mapped,
            past,
            least.waits,
            times,
        )

    def _scheduled(
        self, start: int, mapped: bool, most: int | None, bound: tuple[int, Hashable | None, int]
    ) -> Least:
        """Schedule the body with the least interval found from ``start`` on."""
        body, asked = self.leaf.body, self.leaf.asked or 1
        least, port, demand = bound
        ii = max(asked, least, start)
        around = Mapped(body, self.timing) if mapped else None
        scheduler = Scheduler(body, self.timing, mapped=around)
        found = least_interval(scheduler, ports_of(body), ii, most, near=mapped)
        if found.why or port is None or least <= asked:
            return found
        return Least(found.ii, resource_limit(ii, port, body, demand), waits=True)


def _late_helps(body: Body, timing: TimingModel) -> bool:
    """Whether loads that stores are forwarded to can have a register behind the memory's output."""
    loads = [n for n in body.nodes if n.kind == "load" and n.access and n.access.forwarded]
    found = [n for n in loads if n.access is not None and n.access.array.read_latency]
    return bool(found) and all(timing.can_be_late(node) for node in found)


def past_helps(body: Body) -> bool:
    """Whether a recurrence passes a register and something else that takes whole cycles.

    Logic alone is as long as it is, wherever registers part it.
    """
    around = recurrent(body)
    scalars = {
        node.access.array.number
        for node in around
        if node.kind == "store" and node.access is not None and node.access.array.storage == "reg"
    }
    return bool(scalars) and any(node.latency for node in around)


def keep_bypasses(body: Body) -> None:
    """Note on every load the stores that it meets in one cycle."""
    for node in body.nodes:
        if node.access is not None:
            node.access.bypass, node.access.late_bypass, node.access.prompt_bypass = [], [], []
    for edge in body.edges:
        access = edge.target.access
        if not edge.bypass or access is None:
            continue
        ahead = edge.source.time - edge.target.time - edge.distance * body.ii
        ways = access.bypass, access.late_bypass, access.prompt_bypass
        while ahead >= 0:
            ways[ahead].append(edge.source)
            ahead -= body.ii


def _turns() -> Level:
    """What counts the turns of a while loop, though no counter does."""
    return Level("turn", Node(0, "iv", INDEX_BITS, high=UNBOUNDED), None)
