"""Choosing a schedule for every body of a function: initiation intervals, flattening, cycles."""

from __future__ import annotations

from collections import Counter

from ..graph.conditions import find_conditions
from ..graph.nodes import Body, Node
from ..graph.prune import bodies_of, outside_uses, regions_of
from ..graph.regions import Block, Choice, Exit, Function, If, Leaf, Level, Loop, Region, Seq, While
from .cycles import region_cycles
from .exits import do_not_guess, note_extra, settle_exit, without_exit
from .explain import short
from .limits import limit
from .modulo import Scheduler, depth_of, resources_of
from .orders.dependence import add_edges
from .orders.heard import unheard
from .orders.hoist import behind_loads
from .port_bounds import port_bound, ports_of, ungated_bound
from .runs.rewind import draining, note_on
from .search.pipeline import NEVER, Pipeline, keep_bypasses
from .share import gate_loads, join_streams
from .stream_order import counts_on, first_unforeseen, waits_inside
from .timing_model import TimingModel
from .turns.rotation import rotate

MOST_PLANNED_TWICE = 1_500
"""Nodes of a body that is planned again behind its loads though no port holds its interval."""


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
    scheduler = Scheduler(body, timing, ports_of(body))
    scheduler.attempt(None)
    if timing.improve is not None:
        timing.improve(scheduler, ports_of(body), None)
    body.depth = depth_of(body)
    body.ii, body.overlaps = body.depth, False
    if found is not None:
        settle_exit(body, found)
    keep_bypasses(body)


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
    return Pipeline(leaf, timing, most).plan()


def _hoisted(region: Region, function: Function, timing: TimingModel) -> Region:
    """A pipeline that lacks ports, behind the loads that it repeats, where that is faster."""
    if not isinstance(region, Leaf):
        return region
    remake, region.remake = region.remake, None
    if region.asked is None or region.rewind or region.exit:
        return region
    body, asked = region.body, region.asked
    waits = any(node.stream is not None for node in body.nodes)
    least = ungated_bound(body)
    if waits or not body.overlaps or min(least, body.ii) <= asked:
        return region
    if len(body.nodes) > MOST_PLANNED_TWICE and least < body.ii:
        return region
    uses = Counter(use for node in body.nodes for use in resources_of(node))
    busy = {use for use, slots in ports_of(body).items() if uses[use] > asked * slots}

    def planned(leaf: Leaf, front: Body | None) -> Region:
        if front is not None:
            _sequential(front, [], timing)
        elif remake is not None:
            remake()
            return leaf
        return _plan_pipeline(leaf, timing)

    return behind_loads(
        region,
        function.new_body(),
        lambda body: port_bound(body)[0] + ungated_bound(body),  # less where either is
        lambda node: not busy.isdisjoint(resources_of(node)),
        planned,
    )
