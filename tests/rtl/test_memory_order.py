"""Accesses of unknown place: an edge to what they must follow, none where a path of edges keeps the order."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl.graph.nodes import Access, Array, Body, Edge, Lin, Node
from allo.backend.rtl.plan.explain import recurrence_limit
from allo.backend.rtl.plan.modulo import Recurrence
from allo.backend.rtl.plan.orders.order import Orders
from allo.dialects.core.partition import unpartitioned
from allo.ir.types import int32
from tests.figures_plugin import Held

from .test_gemm import loop_called

NEVER = -(1 << 20)
FURTHEST = 3


def _accesses(kinds: str) -> list[Node]:
    array = Array("h", "i32", 32, unpartitioned((64,)), (64,), "ram")
    return [
        Node(number, kind, 32, access=Access(array, (Lin(0),), 0))
        for number, kind in enumerate("load" if letter == "L" else "store" for letter in kinds)
    ]


def _longest(count: int, edges: list[Edge]) -> list[list[list[int]]]:
    """``[d][i][j]``: most cycles between starts on a path of edges from i to j, d iterations on."""
    found = [[[NEVER] * count for _ in range(count)] for _ in range(FURTHEST + 1)]
    for _ in range(count * (FURTHEST + 1)):
        for edge in edges:
            for d in range(edge.distance, FURTHEST + 1):
                for i in range(count):
                    start = found[d - edge.distance][i][edge.source.number]
                    if d == edge.distance and i == edge.source.number:
                        start = max(start, 0)
                    row = found[d][i]
                    row[edge.target.number] = max(row[edge.target.number], start + edge.latency)
    return found


@pytest.mark.parametrize("bypass", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_every_pair_that_may_meet_is_kept_in_order(seed: int, bypass: int) -> None:
    """By the longest path between each pair, for random relations between random accesses.

    With 2, all loads are late: they may start a cycle before a store whose value they take; with 3, two.
    """
    rng = random.Random(seed)
    nodes = _accesses("".join(rng.choice("LSS") for _ in range(7)))
    density = rng.choice((0.3, 0.6, 0.9))
    meetings = {
        (i, j): rng.random() < density for i, j in itertools.combinations(range(len(nodes)), 2)
    }
    distances = {
        (i, j): rng.choice((1, 1, 2, 3)) if rng.random() < density else None
        for i, j in itertools.product(range(len(nodes)), repeat=2)
    }
    for node in nodes:
        assert node.access is not None
        node.access.late = bypass >= 2 and node.kind == "load"
        node.access.prompt = bypass == 3 and node.access.late
    edges = Orders(
        nodes,
        lambda a, b: meetings[a.number, b.number],
        lambda a, b: distances[a.number, b.number],
        bypass=bypass > 0,
    ).edges()
    longest = _longest(len(nodes), edges)
    direct = {(e.source.number, e.target.number, e.distance) for e in edges}
    wanted = [(i, j, 0) for (i, j), meets in meetings.items() if meets]
    wanted += [(i, j, d) for (i, j), d in distances.items() if d is not None and i != j]
    for i, j, distance in wanted:
        first, second = nodes[i].kind, nodes[j].kind
        if (first, second) == ("load", "load"):
            continue
        # A pair that may share a cycle by a bypass needs an edge of its own, or to be a cycle apart.
        taken = bypass > 0 and (i, j, distance) in direct and second == "load"
        cycles = max(longest[d][i][j] for d in range(distance + 1))
        least = 0 if taken or first == "load" else 1
        assert cycles >= least - (max(0, bypass - 1) if taken else 0), (i, j, distance)


@pytest.mark.parametrize("bypass", [0, 1, 2, 3])
def test_as_many_edges_as_accesses(bypass: int) -> None:
    """A late load also needs edges to the two stores that it may meet, and to the next one."""
    nodes, questions = _accesses("LS" * 256), []
    for node in nodes:
        assert node.access is not None
        node.access.late = bypass >= 2 and node.kind == "load"
        node.access.prompt = bypass == 3 and node.access.late

    def least(first: Node, second: Node) -> int:
        questions.append((first, second))
        return 1

    edges = Orders(nodes, lambda a, b: True, least, bypass=bypass > 0).edges()
    assert len(edges) <= (2, 2, 4, 6)[bypass] * len(nodes)
    assert len(questions) <= 8
    assert sum(e.distance for e in edges) == len(questions)


def unknown[N](a: int32[256], h: int32[64]):
    for i in range(256 // N):
        for k in range(N):
            h[a[i * N + k]] = h[a[255 - i * N - k]] + k


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_gathers_and_scatters_in_one_iteration(simulator: str, figures: Held) -> None:
    """Each waits for the one before: a cycle for each, in which its load takes what that one stores."""
    s = allo.customize(unknown, instantiate=[16])
    s.pipeline("i")
    s.partition(s.a, dim=1, partition_type=Partition.Cyclic, factor=16)
    module = s.build(target="verilog", simulator=simulator)
    rng = np.random.default_rng(3)
    a, h = rng.integers(0, 64, 256, dtype=np.int32), rng.integers(0, 99, 64, dtype=np.int32)
    expected = h.copy()
    for n in range(256):
        expected[a[n]] = expected[a[255 - n]] + n % 16
    module(a, h)
    np.testing.assert_array_equal(h, expected)
    loop = loop_called(module.report, "i")
    assert loop.ii == 16
    figures.hold("rtl.gathers.cycles", module.cycles, report=module.report.cycles)
    assert loop.limit.startswith("II=16: 16 reads of h (test_memory_order.py:")
    assert ") need 16 cycles of bank 0's 2 ports; data say where" in loop.limit


def test_a_limit_names_waits_for_ports() -> None:
    nodes = _accesses("LS")
    edge = Edge(nodes[1], nodes[0], 1, 1, nodes[0].access.array if nodes[0].access else None)
    found = Recurrence(4, 1, [edge], [], waits=2)
    text = "h line ? -> line ? (?), latency 4"
    busy, chain = (recurrence_limit(ii, found, Body(1)).partition("; ") for ii in (6, 4))
    assert busy[0] == f"II=6: {text} and waits for ports, distance 1"
    assert busy[2].startswith("`s.partition` h, or read less of it")
    assert chain[0] == f"II=4: {text}, distance 1"
