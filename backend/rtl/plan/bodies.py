"""Choosing a schedule for every body of a function: initiation intervals, flattening, cycles."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from math import prod

from allo.dialects.ranges.interval import INDEX_BITS

from ..graph.conditions import find_conditions
from ..graph.nodes import Body, Node
from ..graph.prune import EFFECTS, bodies_of, outside_uses, regions_of
from ..graph.regions import Block, Choice, Exit, Function, If, Leaf, Level, Loop, Region, Seq, While
from .cycles import region_cycles
from .exits import do_not_guess, exit_edges, guess, note_extra, settle_exit, without_exit
from .explain import resource_limit, short
from .interval import least_interval
from .limits import limit
from .mapped import Mapped, quicken
from .modulo import Scheduler, Times, resources_of, restore, times_of
from .orders.dependence import Distances, add_edges
from .orders.heard import unheard
from .orders.hoist import behind_loads, runs_of
from .orders.slant import UNBOUNDED
from .port_bounds import gates_help, joining_helps, port_bound, ports_of
from .runs.rewind import can_rewind, draining, gap_between_runs, note_on
from .share import gate_loads, join_streams
from .stream_order import counts_on, first_unforeseen, waits_inside
from .timing_model import TimingModel
from .turns.rotation import rotate

NEVER = 1 << 60
"""Cycles of what cannot be scheduled."""
MOST_PLANNED_TWICE = 1_500
"""Nodes of a body that is planned again behind its loads though no port holds its interval."""


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
    times: Times = field(default_factory=list)


def plan(function: Function, static: Body, timing: TimingModel) -> None:
    """Schedule all bodies of a function, in place; leaves may move levels into outer loops."""
    _settle_static(static, timing)
    for region in regions_of(function.root):
        if isinstance(region, Leaf):
            note_extra(region)
    outside = [node.number for r in regions_of(function.root) for node in outside_uses(r)]
    for body in bodies_of(function.root):
        find_conditions(body, frozenset(outside))
    _plan_region(function.root, timing)
    for region in list(regions_of(function.root)):
        if isinstance(region, Seq):
            region.children = [_hoisted(child, function, timing) for child in region.children]
    function.notes += [note_on(leaf) for leaf in draining(function.root)]
    function.notes += unheard(function.root)


def _choose_region(choice: Choice, timing: TimingModel) -> Region:
    """The option that is predicted to take the fewest cycles; the first among equals."""
    cycles: list[int] = []
    for option in choice.options:
        _plan_region(option, timing)
        found = region_cycles(option, lambda name: None)
        cycles.append(found if found is not None else NEVER)
    return choice.options[cycles.index(min(cycles))]


def _settle_static(static: Body, timing: TimingModel) -> None:
    for node in static.nodes:
        arrival = max((o.settle for o in node.operands if o.body is static), default=0.0)
        node.settle = arrival + timing.entry(node)


def _plan_region(region: Region, timing: TimingModel) -> None:
    match region:
        case Seq():
            for position, child in enumerate(region.children):
                if isinstance(child, Choice):
                    child = region.children[position] = _choose_region(child, timing)
                    continue
                if isinstance(child, Leaf) and not child.levels:
                    region.children[position] = _plan_while(child, timing)
                    continue
                if isinstance(child, Leaf) and child.asked is not None:
                    _check_streams(child)
                if isinstance(child, Leaf) and child.asked is not None:
                    waits = _first_wait(child.body)
                    # Words that later iterations have taken ahead cannot be given back.
                    found = without_exit(child) if waits is not None else None
                    region.children[position] = _plan_pipeline(child, timing)
                    if waits is not None and found is not None and not child.limit:
                        child.limit = counts_on(waits)
                    _recheck_streams(child, found, timing)
                else:
                    _plan_region(child, timing)
        case Block():
            _sequential(region.body, [], timing)
        case Leaf():
            _sequential(region.body, region.levels, timing, region.exit)
        case Loop():
            _plan_region(region.child, timing)
        case If():
            _plan_region(region.then, timing)
            _plan_region(region.other, timing)
        case While():
            _plan_region(region.test, timing)
            _plan_region(region.child, timing)


def _sequential(
    body: Body, levels: list[Level], timing: TimingModel, found: Exit | None = None
) -> None:
    gate_loads(body, False)
    join_streams(body, False)
    rotate(body, ())
    if found is not None:
        do_not_guess(body, found)
    add_edges(body, levels, carried=False)
    Scheduler(body, timing, ports_of(body)).attempt(None)
    body.depth = _depth(body)
    body.ii, body.overlaps = body.depth, False
    if found is not None:
        settle_exit(body, found)
    _keep_bypasses(body)


def _depth(body: Body) -> int:
    depth = 1
    for node in body.nodes:
        if node.kind in EFFECTS:
            depth = max(depth, node.time + 1)
        if node.crosses:
            depth = max(depth, node.avail + 1)
    return depth


def _check_streams(leaf: Leaf) -> None:
    """Give up overlap where a get depends on data of its own iteration."""
    found = first_unforeseen(leaf.body)
    if found:
        leaf.asked, leaf.limit = None, found


def _first_wait(body: Body) -> Node | None:
    return next((node for node in body.nodes if node.waits), None)


def _recheck_streams(leaf: Leaf, found: Exit | None, timing: TimingModel) -> None:
    """Give up overlap where iterations would have to wait inside the pipeline.

    ``found`` ends the loop early if they do not overlap.
    """
    body = leaf.body
    why = waits_inside(body) if body.overlaps else ""
    if why:
        leaf.asked = None
        leaf.limit, leaf.exit = why, found
        _sequential(body, leaf.levels, timing, leaf.exit)


def _plan_while(leaf: Leaf, timing: TimingModel) -> Region:
    """A while loop: a pipeline where that is faster. One without an end may wait for streams in it."""
    body = leaf.body
    _sequential(body, [], timing, leaf.exit)
    serial = body.depth
    if serial == 1:
        return leaf
    if leaf.exit is None:
        return _plan_endless(leaf, timing, serial)
    asks = next((node for node in body.nodes if node.stream is not None), None)
    if asks is not None:
        verb = "waits for" if asks.waits else "asks"
        leaf.limit = limit("waits", verb=verb, stream=asks.label, place=short(asks.place))
        return leaf
    leaf.asked = 1
    _plan_pipeline(leaf, timing, most=serial - 1)
    _keep_what_gains(leaf, timing, serial)
    return leaf


def _plan_endless(leaf: Leaf, timing: TimingModel, serial: int) -> Region:
    """A loop without an end: an iteration waits in front of its pipeline, and none is taken back."""
    leaf.asked = 1
    _check_streams(leaf)
    if leaf.asked is None:
        return leaf
    _plan_pipeline(leaf, timing, most=serial - 1)
    _recheck_streams(leaf, None, timing)
    if leaf.body.overlaps:
        _keep_what_gains(leaf, timing, serial)
    return leaf


def _keep_what_gains(leaf: Leaf, timing: TimingModel, serial: int) -> None:
    if leaf.body.ii >= serial:
        leaf.asked, leaf.limit = None, limit("gains nothing", limit=leaf.limit.partition("; ")[0])
        _sequential(leaf.body, [], timing, leaf.exit)


def _plan_pipeline(leaf: Leaf, timing: TimingModel, *, most: int | None = None) -> Region:
    return _Pipeline(leaf, timing, most).plan()


@dataclass(slots=True)
class _Pipeline:
    """The search for the best schedule of one leaf.

    Attributes:
        most: no interval above it is of use; None for no limit.
        known: how accesses meet, by the number of levels that stay outside.
    """

    leaf: Leaf
    timing: TimingModel
    most: int | None
    known: dict[int, Distances] = field(default_factory=dict)

    def plan(self) -> Region:
        """Schedule the leaf; it may move levels into loops around it."""
        leaf = self.leaf
        best, choices = self._quickened(*self._taken())
        leaf.limit = best.limit
        _keep_bypasses(leaf.body)
        if self._rewinds(choices, best):
            return leaf
        outer, leaf.levels = leaf.levels[: best.outer], leaf.levels[best.outer :]
        region: Region = leaf
        for level in reversed(outer):
            region = Loop(level, Seq([region]), band=leaf.band)
        return region

    def _taken(self) -> tuple[_Choice, list[_Choice]]:
        """The best choice, which the body is as, and all that were tried."""
        best, choices = self._best()
        if best is not choices[-1]:
            self._again(best)
        return best, choices

    def _quickened(self, best: _Choice, choices: list[_Choice]) -> tuple[_Choice, list[_Choice]]:
        """The choices with quick units on recurrences, where these make the interval shorter."""
        body = self.leaf.body
        if best.ii <= max(self.leaf.asked or 1, port_bound(body)[0]):
            return best, choices
        slower = quicken(body, self.timing)
        found = self._taken() if slower else (best, choices)
        if found[0].ii < best.ii:
            return found
        for node, operator in slower:
            node.operator = operator
        if slower:
            self._again(best)
        return best, choices

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
        if best.ii > floor and Mapped(leaf.body, timing).helps:
            # The best one again, from the least interval on.
            found = self._again(replace(best, ii=0, mapped=True, times=[]), most=best.ii - 1)
            choices += [found]
            best = found if found.ii < best.ii else best
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
                _keep_bypasses(leaf.body)
                return True
        self._again(best)
        _keep_bypasses(leaf.body)
        return False

    def _again(self, choice: _Choice, *, most: int | None = None) -> _Choice:
        """Make one of the choices again, after others: with its times, or from its interval on."""
        return self._choose(
            choice.outer,
            bypass=choice.bypass,
            gated=choice.gated,
            joined=choice.joined,
            mapped=choice.mapped,
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
        add_edges(body, levels, carried=True, bypass=bypass, distances=self.known[outer])
        if leaf.exit is not None:
            body.edges += exit_edges(body, leaf.exit)
        if again is not None and again.times:
            restore(body, again.times)
            ii, why = again.ii, again.limit
        else:
            ii, why = self._scheduled(again.ii if again is not None else 0, mapped, most)
        body.ii, body.overlaps = ii, True
        found = most is None or ii <= most
        times = times_of(body) if found else []
        # An iteration lasts an interval at least: then its loop's counters move on.
        body.depth = max(ii, _depth(body))
        if leaf.exit is not None:
            body.depth = max(body.depth, settle_exit(body, leaf.exit))
        follow, runs = runs_of(levels) - 1, runs_of(leaf.levels[:outer])
        cycles = runs * (follow * ii + body.depth) if found else NEVER
        return _Choice(outer, ii, body.depth, cycles, why, bypass, gated, joined, mapped, times)

    def _scheduled(self, start: int, mapped: bool, most: int | None) -> tuple[int, str]:
        """Schedule the body with the least interval found from ``start`` on; what holds it there."""
        body, asked = self.leaf.body, self.leaf.asked or 1
        least, port, demand = port_bound(body)
        ii = max(asked, least, start)
        of_port = ""
        if port is not None and least > asked:
            of_port = resource_limit(ii, port, body, demand)
        around = Mapped(body, self.timing) if mapped else None
        scheduler = Scheduler(body, self.timing, mapped=around)
        ii, why = least_interval(scheduler, ports_of(body), ii, most)
        return ii, why or of_port


def _hoisted(region: Region, function: Function, timing: TimingModel) -> Region:
    """A pipeline that lacks ports, behind the loads that it repeats, where that is faster."""
    if not isinstance(region, Leaf) or region.asked is None or region.rewind or region.exit:
        return region
    body, asked = region.body, region.asked
    waits = any(node.stream is not None for node in body.nodes)
    least = port_bound(body)[0]
    if waits or not body.overlaps or least <= asked:
        return region
    if len(body.nodes) > MOST_PLANNED_TWICE and least < body.ii:
        return region
    uses = Counter(use for node in body.nodes for use in resources_of(node))
    busy = {use for use, slots in ports_of(body).items() if uses[use] > asked * slots}

    def planned(leaf: Leaf, front: Body | None) -> Region:
        if front is not None:
            _sequential(front, [], timing)
        return _plan_pipeline(leaf, timing)

    return behind_loads(
        region,
        function.new_body(),
        lambda body: port_bound(body)[0],
        lambda node: not busy.isdisjoint(resources_of(node)),
        planned,
    )


def _late_helps(body: Body, timing: TimingModel) -> bool:
    """Whether loads that stores are forwarded to can have a register behind the memory's output."""
    loads = [n for n in body.nodes if n.kind == "load" and n.access and n.access.forwarded]
    found = [n for n in loads if n.access is not None and n.access.array.read_latency]
    return bool(found) and all(timing.can_be_late(node) for node in found)


def _keep_bypasses(body: Body) -> None:
    """Note on every load the stores that it meets in one cycle."""
    for node in body.nodes:
        if node.access is not None:
            node.access.bypass, node.access.late_bypass = [], []
    for edge in body.edges:
        access = edge.target.access
        if not edge.bypass or access is None:
            continue
        ahead = edge.source.time - edge.target.time - edge.distance * body.ii
        while ahead >= 0:
            (access.late_bypass if ahead else access.bypass).append(edge.source)
            ahead -= body.ii


def _turns() -> Level:
    """What counts the turns of a while loop, though no counter does."""
    return Level("turn", Node(0, "iv", INDEX_BITS, high=UNBOUNDED), None)
