"""The search for the initiation interval: the least one, in few attempts."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import allo
from allo.backend.rtl.graph.nodes import Edge, Node
from allo.backend.rtl.plan import bodies
from allo.backend.rtl.plan.modulo import Attempt, Recurrence, Scheduler
from allo.backend.rtl.plan.orders import hoist
from allo.backend.rtl.plan.placing.carried import Carried
from allo.backend.rtl.plan.placing.forward import Forward
from allo.backend.rtl.plan.search import pipeline
from allo.backend.rtl.plan.search.interval import CLOSE, least_interval
from allo.ir.types import bfloat16, float16, float32, float64, index, int32, uint8


@dataclass
class _From:
    """A body that can be scheduled from an interval on; its node starts in the cycle of that number.

    ``alone``: from which on where units have no limit.
    """

    least: int
    capacity: dict[Hashable, int] = field(default_factory=dict)
    tried: list[int] = field(default_factory=list)
    refused: bool = False
    is_large: bool = False
    alone: int | None = None
    body: SimpleNamespace = field(init=False)

    def __post_init__(self) -> None:
        node = {"number": 0, "operator": None, "op": "div", "place": None}
        self.body = SimpleNamespace(nodes=[SimpleNamespace(**node, time=0, avail=0, settle=0.0)])

    def demand(self) -> Counter[Hashable]:
        return Counter({("unit", "adder"): 3})

    def attempt(self, ii: int) -> Attempt:
        self.tried.append(ii)
        self.body.nodes[0].time = ii
        limited = self.alone is None or ("unit", "adder") in self.capacity
        least = self.least if limited else self.alone
        return Attempt(ii >= cast(int, least), resource=("cycles", 0))


@pytest.mark.parametrize("first", [1, 7, 40])
def test_the_least_interval_is_found(first: int):
    for least in range(1, 300):
        body = _From(least)
        found = least_interval(cast(Scheduler, body), {}, first, None)
        ii, why = found.ii, found.why
        wanted = max(first, least)
        assert wanted <= ii <= wanted + ii // CLOSE and ii == body.body.nodes[0].time
        assert why == "" if ii == first else re.match(f"II={ii}: div ", why), why
        assert len(body.tried) <= 16 + 40


@pytest.mark.parametrize("refused", [False, True])
def test_more_units_are_tried_where_one_was_refused(refused: bool):
    body = _From(3, refused=refused)
    assert least_interval(cast(Scheduler, body), {}, 2, 2).ii == 3
    assert body.tried == ([2, 2, 2] if refused else [2])


@pytest.mark.parametrize("most", [5, 16, 17, 90])
def test_no_interval_above_the_most_is_tried(most: int):
    for least in range(1, 120):
        body = _From(least)
        ii = least_interval(cast(Scheduler, body), {}, 1, most).ii
        assert (least <= ii <= least + ii // CLOSE) if least <= most else ii > most
        assert max(body.tried) <= most


@pytest.mark.parametrize("first", [1, 80])
@pytest.mark.parametrize("most", [40, 64, 300])
def test_a_large_interval_near_the_most_is_found_in_few_attempts(first: int, most: int):
    for least in range(1, most + 1):
        body = _From(least)
        ii = least_interval(cast(Scheduler, body), {}, first, most, near=True).ii
        wanted = max(first, least)
        assert ii > most if first > most else wanted <= ii <= wanted + ii // CLOSE
        assert first > most or ii == body.body.nodes[0].time
    body = _From(297)
    least_interval(cast(Scheduler, body), {}, 1, 300, near=True)
    assert len(body.tried) == 2


def test_a_large_body_is_first_tried_with_any_number_of_units():
    """An interval that fails without a limit on units is not tried with one."""
    body = _From(9, is_large=True, alone=6)
    assert least_interval(cast(Scheduler, body), {}, 4, None).ii == 9
    assert body.tried == [4, 5, 6, 6, 7, 7, 8, 8, 9, 9]


@pytest.mark.parametrize(("latency", "waits"), [(16, True), (24, False)])
def test_what_holds_an_interval_is_told(latency: int, waits: bool):
    """Waits for a port, where the recurrence that failed would allow a smaller interval without them."""

    class Recurring(_From):
        def attempt(self, ii: int) -> Attempt:
            found = super().attempt(ii)
            edge = Edge(*[Node(k, "op", 32) for k in range(2)], 1, 3)
            cycle = Recurrence(latency, 3, [edge], [], waits=24 - latency)
            return found if found.ok else Attempt(False, recurrence=cycle)

    found = least_interval(cast(Scheduler, Recurring(8)), {}, 1, None)
    assert (found.ii, found.waits) == (8, waits)
    assert ("and waits for ports" in found.why) == waits


def test_the_largest_interval_is_tried_once():
    body = _From(5)
    assert least_interval(cast(Scheduler, body), {}, 3, 5).ii == 5
    assert body.tried == [5, 3, 4] and body.body.nodes[0].time == 5


def cleared(B: int32[8, 8], f: int32[8], p: index):
    for e in range(8):
        for r in range(8):
            if r != p:
                B[r, e] -= f[r] * B[p, e]


def test_a_pipeline_that_stays_is_not_planned_again(monkeypatch: pytest.MonkeyPatch):
    """Its first schedule is made again, as it was, where one behind its loads takes no fewer cycles."""
    planned: list[tuple[int, int, list[int]]] = []
    plan: Any = bodies._plan_pipeline
    hoisted: Any = bodies._hoisted

    def noted(leaf: Any, *args: Any, **settings: Any) -> Any:
        region = plan(leaf, *args, **settings)
        planned.append((leaf.body.ii, leaf.body.depth, [n.time for n in leaf.body.nodes]))
        return region

    def held(region: Any, *args: Any) -> Any:
        before = len(planned)
        found = hoisted(region, *args)
        if len(planned) > before and found is region:
            times = [node.time for node in region.body.nodes]
            assert (region.body.ii, region.body.depth, times) == planned[before - 1]
            kept.append(region)
        return found

    kept: list[Any] = []
    monkeypatch.setattr(hoist, "run_cycles", lambda leaf: 0)
    monkeypatch.setattr(bodies, "_plan_pipeline", noted)
    monkeypatch.setattr(bodies, "_hoisted", held)
    s = allo.customize(cleared)
    s.pipeline("r")
    module, cpu = s.build(target="verilog", simulator="jit"), s.build()
    assert len(kept) == 1 and len(planned) >= 2
    ours = np.arange(64, dtype=np.int32).reshape(8, 8)
    theirs, factors = ours.copy(), np.arange(8, dtype=np.int32)
    module(ours, factors, 3)
    cpu(theirs, factors, 3)
    np.testing.assert_array_equal(ours, theirs)


def kernel(A: float32[2, 2, 4], n: float16) -> float32:
    for j in range(1):
        for k in range(4, 20, 3):
            A[0][j // 4][2] = n
            row: bfloat16[12] = A[(k + j) % 2, (k + j) % 2, j + 3]
            if (k != 9) or (n >= row[j]):
                return max(k, n)
    return 2.5


def test_what_cannot_overlap_is_given_up_early(monkeypatch: pytest.MonkeyPatch):
    """Stores wait for a guess: times grew by the same cycles in 64 rounds of 300 attempts."""
    rounds = []
    run: Any = Forward.run
    monkeypatch.setattr(Forward, "run", lambda *a: rounds.append(1) or run(*a))
    s = allo.customize(kernel)
    s.pipeline("j")
    s.pipeline("k")
    module = s.build(target="verilog", simulator="jit")
    assert len(rounds) < 6000
    cpu = s.build()
    for n in (-3.5, 2.0, 900.0):
        ours = np.arange(16, dtype=np.float32).reshape(2, 2, 4)
        theirs = ours.copy()
        assert module(ours, np.float16(n)) == cpu(theirs, np.float16(n))
        np.testing.assert_array_equal(ours, theirs)


def _checked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have every pipeline's starting times held to its operands and orders; the list takes the intervals."""
    found: list[int] = []
    plan: Any = bodies._plan_pipeline

    def checked(leaf: Any, *args: Any, **settings: Any) -> Any:
        region = plan(leaf, *args, **settings)
        body = leaf.body
        for node in body.nodes:
            assert all(o.avail <= node.time for o in node.operands if o.body is body), node.place
        for edge in body.edges:
            late = edge.source.time + edge.latency - edge.distance * body.ii
            assert late <= edge.target.time, (edge.source.place, edge.target.place)
        found.append(body.ii)
        return region

    monkeypatch.setattr(bodies, "_plan_pipeline", checked)
    return found


def histogram(bins: uint8[64], W: float32[64], H: float32[256]):
    for i in range(64):
        H[bins[i]] += W[i]


def test_a_choice_that_fails_is_not_kept(monkeypatch: pytest.MonkeyPatch):
    """The times of a failed attempt look short, and were kept where nothing else looked shorter."""
    intervals = _checked(monkeypatch)
    failed: list[int] = []

    def fails_early(
        scheduler: Scheduler, ports: Any, first: int, most: int | None, *, near: bool
    ) -> Any:
        found = least_interval(scheduler, ports, first, most, near=near)
        if most is None or found.ii <= most:
            return found
        failed.append(most)
        for node in scheduler.body.nodes:
            node.time, node.avail = 0, node.latency
        return found

    monkeypatch.setattr(pipeline, "least_interval", fails_early)
    s = allo.customize(histogram)
    s.pipeline("i")
    s.build(target="verilog", simulator="jit", device="xcup", clock_mhz=300)
    assert failed and intervals == [failed[0] + 1]


def chain(A: float64[130], B: float64[3]):
    for t in range(3):
        x: float64 = B[(t + 2) % 3]
        for i in range(130):
            x = x / A[i]
        B[t] = x


def test_an_interval_of_thousands_of_cycles_is_scheduled(monkeypatch: pytest.MonkeyPatch):
    """Intervals above 4,096 were not tried, and the times of an attempt that failed were taken."""
    intervals = _checked(monkeypatch)
    s = allo.customize(chain)
    s.unroll("i")
    s.pipeline("t")
    module = s.build(target="verilog", simulator="jit", device="xcup", clock_mhz=400)
    assert intervals[-1] > 4096
    a, ours = np.linspace(1, 1.1, 130), np.ones(3)
    theirs = ours.copy()
    module(a, ours)
    s.build()(a, theirs)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("seed", range(20))
def test_what_asks_most_of_each_node(seed: int):
    rng = random.Random(seed)
    nodes = [Node(100 + k, "op", 1) for k in range(6)]
    edges = [
        Edge(rng.choice(nodes), rng.choice(nodes), rng.randint(0, 9), rng.randint(1, 2))
        for _ in range(rng.randint(0, 12))
    ]
    times = [rng.randint(0, 9) for _ in nodes]
    wanted: dict[int, tuple[int, Edge]] = {}
    last = None
    for edge in edges:
        target, need = edge.target.number - 100, times[edge.source.number - 100] + edge.latency
        need -= 3 * edge.distance
        if need > times[target]:
            last = edge
            if target not in wanted or need > wanted[target][0]:
                wanted[target] = need, edge
    positions = {node.number: k for k, node in enumerate(nodes)}
    raised, asked = Carried(edges, positions).broken(times, 3)
    assert raised is last
    assert asked == [(target, *wanted[target]) for target in sorted(wanted)]
