"""Wide designs in the in-process engine: long models and drivers become functions of bounded length."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
from allo.backend.sim.driver.ports import PortMap, top_ports
from allo.backend.sim.driver.transaction import DriverEmitter
from allo.backend.sim.driver.wires import Evaluation
from allo.backend.sim.engines.arc.branches import Branch
from allo.backend.sim.engines.arc.graph import Graph, Node, Write
from allo.backend.sim.engines.arc.lowered import lower_design
from allo.backend.sim.engines.arc.outline import room_of
from allo.backend.sim.engines.arc.share import share_out
from allo.backend.sim.engines.interface import BuildOptions
from allo.ir.types import float32
from benchmarks.rtl_width import linear
from tests.rtl.differential import bits

pytestmark = pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")

LONGEST = 4500
"""Lines of a function: of 200 writes, or of 300 operations, and what these compute."""


def gemm[N](A: float32[6, 5], B: float32[5, N], Cin: float32[6, N]) -> float32[6, N]:
    C: float32[6, N]
    out: float32[6, N]
    for t0 in range(6):
        for j0 in range(N):
            C[t0, j0] = Cin[t0, j0] * 1.25
    for k in range(5):
        for t in range(6):
            a: float32 = A[t, k] * 1.5
            for j in range(N):
                C[t, j] += a * B[k, j]
    for t1 in range(6):
        for j1 in range(N):
            out[t1, j1] = C[t1, j1]
    return out


def rows(columns: int) -> allo.customize.Schedule:
    s = allo.customize(gemm, instantiate=[columns])
    for loop in ("t", "t0", "t1"):
        s.pipeline(loop)
    for array in (s.B, s.C, s.Cin, s.out):
        s.partition(array, dim=2)
    return s


def lanes(number: int) -> allo.customize.Schedule:
    s = allo.customize(linear, instantiate=[number, 16, 3])
    s.partition(s.acc)
    s.unroll("p")
    s.pipeline("mac")
    return s


def longest(text: str) -> int:
    """Lines of the longest function."""
    return max(part.count("\n") for part in re.split(r"llvm\.func ", text))


def driver(mod: allo.backend.sim.RTLModule) -> str:
    """The text of the driver; where its ports lie does not matter."""
    widths = {port.name: port.width for port in top_ports(mod.design)}
    ports = PortMap(dict.fromkeys(widths, 8), widths, lambda width: -(-width // 8) * 8)
    how = Evaluation("settle", "edge", "reset")
    return DriverEmitter(mod.design, BuildOptions().outside, ports, how).emit().text


def test_float_pairs_over_many_banks():
    s = rows(72)
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape, np.float32) for shape in ((6, 5), (5, 72), (6, 72))]
    mod = s.build(target="verilog", simulator="jit")
    assert "_edge_part1(" in lower_design(mod.design).text
    assert "@allo_drive_1(" in driver(mod)
    expected = s.build()(*arrays)
    for _ in range(2):
        assert bits(mod(*arrays)) == bits(expected)
        assert mod.cycles == mod.report.cycles
    mod.reset()
    assert bits(mod(*arrays)) == bits(expected)


def test_int8_lanes_of_one_wide_word():
    number = 320
    mod = lanes(number).build(target="verilog", simulator="jit")
    assert "_edge_part1(" in lower_design(mod.design).text
    rng = np.random.default_rng(4)
    x = rng.integers(-128, 128, 16, dtype=np.int8)
    weights = rng.integers(-128, 128, (48, number), dtype=np.int8)
    words = np.array([int.from_bytes(row.tobytes(), "little") for row in weights], object)
    found = np.zeros(3, object)
    mod(x, words, found)
    sums = np.einsum("k,tkp->tp", x, weights.reshape(3, 16, number), dtype=np.int32)
    assert list(found) == [int.from_bytes(row.tobytes(), "little") for row in sums]
    assert mod.cycles == mod.report.cycles


@pytest.mark.parametrize("schedule", [lambda: rows(144), lambda: lanes(640)], ids=["gemm", "int8"])
def test_no_function_is_long(schedule):
    mod = schedule().build(target="verilog", simulator="jit")
    assert longest(lower_design(mod.design).text) < LONGEST
    assert longest(driver(mod)) < LONGEST


@pytest.mark.parametrize(
    ("bits", "room"),
    [(1, 1), (8, 1), (9, 2), (17, 4), (32, 4), (33, 8), (64, 8), (65, 16), (130, 24)],
)
def test_values_that_functions_keep_for_others_lie_without_gaps(bits, room):
    assert room_of(bits) == room


def test_a_part_of_writes_that_take_many_operations_is_short():
    """A hundred registers, each behind 50 operations of its own: one function would have 5,000."""
    graph, root = Graph(block=None), Branch(None)
    for state in range(100):
        value = Node(None, "arc.state_read", [], state)
        graph.nodes.append(value)
        for _ in range(50):
            value = Node(None, "comb.add", [value])
            graph.nodes.append(value)
        graph.writes.append(Write(None, [value, value], [], state))
    root.writes = list(graph.writes)
    share_out(graph, root)
    parts = [branch.writes for branch in root.inner]
    assert root.writes == []
    assert sorted(w.state for part in parts for w in part) == list(range(100))
    assert max(map(len, parts)) * 50 <= 1600
