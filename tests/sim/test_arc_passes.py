"""What the in-process engine does to a model before it is compiled: order, resets, idle bodies."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import allo
from allo.backend.rtl.circt import export_verilog, in_circt
from allo.backend.rtl.float.native import with_square_roots
from allo.backend.sim import build
from allo.backend.sim.engines.arc.lowered import lower_design
from allo.backend.sim.engines.arc.order import least_backward
from allo.backend.sim.engines.interface import BuildOptions, RunOptions, find_engine
from allo.ir.types import float32
from allo.target import BuildRequest
from tests.rtl.differential import bits, random_arguments
from tests.rtl.pipelines import RandomRegion
from tests.rtl.programs import Program

from . import designs

EDGES = st.dictionaries(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda e: e[0] != e[1]),
    st.integers(1, 5),
)


@given(EDGES)
def test_little_weight_points_backward(edges):
    order = least_backward(9, edges)
    assert sorted(order) == list(range(9))
    place = {number: position for position, number in enumerate(order)}
    backward = sum(weight for (a, b), weight in edges.items() if place[a] > place[b])
    assert backward <= sum(edges.values()) / 2


@given(EDGES, st.permutations(range(9)))
def test_edges_without_a_cycle_all_point_forward(edges, rank):
    acyclic = {(a, b): weight for (a, b), weight in edges.items() if rank[a] < rank[b]}
    place = {number: position for position, number in enumerate(least_backward(9, acyclic))}
    assert all(place[a] < place[b] for a, b in acyclic)


@pytest.mark.parametrize(("source", "seed"), [(Program, 1), (Program, 3), (RandomRegion, 2)])
def test_what_is_skipped_when_idle_changes_nothing(source, seed):
    """The text with gates and the Verilog without give equal bits in equal cycles."""
    program = source(seed)
    gated, plain = (
        build(BuildRequest(program.text, program.top, "verilog", options={"simulator": engine}))
        for engine in ("jit", "verilator")
    )
    assert gated.design.native_hw_text != gated.design.hw_text
    rng = np.random.default_rng(seed)
    for _ in range(2):
        ours = random_arguments(program.text, program.top, rng)
        theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in ours]
        assert bits(gated(*ours)) == bits(plain(*theirs))
        assert gated.cycles == plain.cycles
        assert [bits(a) for a in ours] == [bits(a) for a in theirs]


def _registers(following: str, engine: str) -> list[int]:
    """What a design answers whose result register is written like this, in four calls."""
    design = designs.scalar_adder(8)
    design.hw_text = design.hw_text.replace("%r = seq.compreg %sum, %clk : i8", following)
    design.verilog = export_verilog(design.hw_text)
    model = find_engine(engine).build(design, BuildOptions())
    inputs = [{"a": a, "b": 7} for a in (3, 250, 0, 9)]
    return [model.run({}, values, RunOptions()).scalars["r"] for values in inputs]


ONE_BIT = """%one = hw.constant true
  %low = comb.extract %count from 0 : (i8) -> i1
  %flag = seq.compreg.ce %low, %clk, %start reset %rst, %one : i1
  %count = seq.compreg %sum, %clk : i8
  %seven = hw.constant 7 : i7
  %r = comb.concat %seven, %flag : i7, i1"""
FROM_DATA = """%more = comb.add %kept, %sum : i8
  %kept = seq.compreg %more, %clk reset %rst, %a : i8
  %r = seq.compreg %kept, %clk : i8"""


@pytest.mark.parametrize("text", [ONE_BIT, FROM_DATA], ids=["to one", "to data"])
def test_resets_of_any_kind(text):
    assert _registers(text, "jit") == _registers(text, "verilator")


def test_a_reset_to_data_leaves_the_model_whole():
    design = designs.scalar_adder(8)
    split = lower_design(design)
    assert split.edge != split.settle
    design.hw_text = design.hw_text.replace("%r = seq.compreg %sum, %clk : i8", FROM_DATA)
    whole = lower_design(design)
    assert whole.edge == whole.settle
    assert whole.resets == []


def test_square_roots_come_back():
    text = "%3 = llvm.frem %2, %1 : f32"
    assert with_square_roots(text) == "%3 = llvm.intr.sqrt(%2) : (f32) -> f32"


def test_square_roots_of_constants_and_remainders_beside_them():
    def roots(a: float32[8], b: float32[8]):
        two: float32 = 2.0
        for i in range(8):
            b[i] = a[i] % 0.75 + allo.sqrt(a[i]) / allo.sqrt(two)

    s = allo.customize(roots)
    a = np.abs(np.random.default_rng(2).standard_normal(8)).astype(np.float32)
    found, expected = np.zeros(8, np.float32), np.zeros(8, np.float32)
    s.build(target="verilog", simulator="jit")(a, found)
    s.build()(a, expected)
    assert bits(found) == bits(expected)


def test_wide_words_are_handled_by_halves() -> None:
    """A word of 24 parts of 7 bits and 3 of 40, taken apart at places of all kinds."""
    parts = [7] * 24 + [40] * 3
    total = sum(parts)
    ports = [f"in %p{k} : i{width}" for k, width in enumerate(parts)]
    cuts = [(0, 1), (3, 9), (63, 2), (64, 64), (100, 150), (127, 1), (128, 32), (total - 5, 5)]
    outs = [f"out q{k} : i{width}" for k, (_, width) in enumerate(cuts)]
    lines = [f"hw.module @f({', '.join(['in %clk : !seq.clock', *ports, *outs])}) {{"]
    names = ", ".join(f"%p{k}" for k in reversed(range(len(parts))))
    kinds = ", ".join(f"i{width}" for width in reversed(parts))
    lines.append(f"  %word = comb.concat {names} : {kinds}")
    lines.append(f"  %held = seq.compreg %word, %clk : i{total}")
    for k, (low, width) in enumerate(cuts):
        lines.append(f"  %q{k} = comb.extract %held from {low} : (i{total}) -> i{width}")
    results = ", ".join(f"%q{k}" for k in range(len(cuts)))
    lines.append(f"  hw.output {results} : {', '.join(f'i{width}' for _, width in cuts)}\n}}")
    model = in_circt("allo.backend.sim.engines.arc.lower:lower_text", "f", "\n".join(lines))
    wide = [int(bits) for bits in re.findall(r"llvm\.shl .* : i(\d+)", model.text)]
    # By halves each width is shifted a few times; part by part all 26 shifts were of 288 bits.
    assert wide.count(total) <= 1
    assert len(wide) >= len(parts) - 1
