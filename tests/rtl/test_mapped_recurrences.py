"""Recurrences timed as lookup tables: intervals, values, and what must not change."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.backend.rtl.graph.nodes import Body, Edge, Node
from allo.backend.rtl.plan.mapped import recurrent
from allo.designs.gallery.catalogue import ENTRIES
from allo.ir.types import int32, uint8, uint32
from benchmarks.recurrences import CLOCKS, check, interval
from benchmarks.recurrent_kernels import RECURRENCES

CASES = {case.kernel.__name__: case for case in RECURRENCES}
BUILT = [
    *(("xcup", name) for name in ("crc32", "automaton", "merge", "lfsr32", "edit_distance")),
    *(("xcup", name) for name in ("top_k", "binary_search")),
    *(("ecp5", name) for name in ("crc32", "automaton", "lfsr32", "top_k", "edit_distance")),
    *(("ecp5", name) for name in ("merge", "binary_search")),
]


@pytest.mark.parametrize(("device", "name"), BUILT)
def test_the_interval_is_that_of_the_tables(device, name):
    case, clock = CASES[name], CLOCKS[device]
    built = case.schedule().build(target="verilog", device=device, clock_mhz=clock, simulator="jit")
    check(case, built)
    assert built.report.cycles == built.report.measured_cycles
    assert interval(built.report, case.loop).ii == case.ii[clock]
    assert built.report.fmax_mhz >= clock


@pytest.mark.parametrize("name", ["smith_waterman", "sha256"])
def test_a_recurrence_that_fits_a_cycle_takes_one(name):
    """A best that waits for a late score, which is none of its recurrence, and sums of three late terms."""
    design = next(entry for entry in ENTRIES if entry.name == name).load()
    built = design.schedule().build(target="verilog", device="ecp5", clock_mhz=80, simulator="jit")
    given = design.inputs(np.random.default_rng(5))
    assert np.array_equal(built(*given), design.reference(*given))
    assert interval(built.report, "t").ii == 1
    assert built.report.registered_mhz >= 80
    assert built.report.cycles == built.report.measured_cycles


def test_results_that_differ_are_told():
    case = CASES["crc32"]
    with pytest.raises(allo.errors.AlloError, match="crc32: simulated hardware and CPU build"):
        check(case, lambda *_: np.uint32(1))


def xorshift(n: int32, out: uint32[64]):
    x: uint32 = n
    for i in range(64):
        for k in range(4):
            x = x ^ (x << 13)
            x = x ^ (x >> 17)
            x = x ^ (x << 5)
        out[i] = x


def scrambled(data: uint8[64], out: uint8[64]):
    """A scrambler of seven bits with data mixed in, which come twice in some parities."""
    s: uint8 = 0x7F
    for i in range(64):
        word: uint8 = 0
        for k in range(8):
            bit: uint8 = ((s >> 6) ^ (s >> 3) ^ (data[i] >> k)) & 1
            s = ((s << 1) & 0x7F) | bit
            word[k] = bit ^ ((data[i] >> k) & 1)
        out[i] = word


@pytest.mark.parametrize("clock_mhz", [50, 300, 500])
@pytest.mark.parametrize("kernel", [xorshift, scrambled])
def test_parities_keep_their_values(kernel, clock_mhz):
    s = allo.customize(kernel)
    s.unroll("k")
    s.pipeline("i")
    built = s.build(target="verilog", simulator="jit", clock_mhz=clock_mhz)
    rng = np.random.default_rng(3)
    if kernel is xorshift:
        out, expected = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
        built(12345, out)
        s.build()(12345, expected)
    else:
        data = rng.integers(0, 256, 64).astype(np.uint8)
        out, expected = np.zeros(64, np.uint8), np.zeros(64, np.uint8)
        built(data, out)
        s.build()(data, expected)
    assert np.array_equal(out, expected) and expected.any()


def branches(a: int32[32], out: int32[32]):
    """What one branch has written is read in the branches beside it and inside it."""
    s: int32 = 0
    for i in range(32):
        if a[i] > 0:
            s = s + 1
            if s > 3:
                s = 0
        elif a[i] < -5:
            if s == 2:
                s = 7
            else:
                s = s - 1
        else:
            s = s * 2
        out[i] = s


@pytest.mark.parametrize("clock_mhz", [100, 300])
def test_branches_that_exclude_each_other_keep_their_values(clock_mhz):
    s = allo.customize(branches)
    s.pipeline("i")
    a = np.random.default_rng(9).integers(-10, 10, 32).astype(np.int32)
    out, expected = np.zeros(32, np.int32), np.zeros(32, np.int32)
    s.build(target="verilog", simulator="jit", clock_mhz=clock_mhz)(a, out)
    s.build()(a, expected)
    assert np.array_equal(out, expected)


def chain(body: Body, count: int) -> list[Node]:
    nodes: list[Node] = []
    for number in range(count):
        nodes.append(Node(number, "op", 8, tuple(nodes[-1:]), body))
    body.nodes = nodes
    return nodes


def test_the_nodes_of_a_recurrence_are_those_between_its_ends():
    body = Body(0)
    nodes = chain(body, 6)
    assert recurrent(body) == []
    body.edges = [Edge(nodes[4], nodes[1], 1, 1)]
    assert {node.number for node in recurrent(body)} == {1, 2, 3, 4}


def test_a_node_that_waits_for_itself_is_a_recurrence():
    body = Body(0)
    nodes = chain(body, 3)
    body.edges = [Edge(nodes[2], nodes[2], 1, 1)]
    assert [node.number for node in recurrent(body)] == [2]
