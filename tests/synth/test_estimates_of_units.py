"""Estimates of float units against what Yosys 0.70 counts of them, and of outputs that are one value."""

from __future__ import annotations

import pytest

from allo.backend.rtl.netlist.modules import Netlist
from allo.backend.rtl.operators import OperatorLibrary
from allo.backend.rtl.resources.design import module_resources, whole
from tests.netlist.reader import read_netlist

INNER = """hw.module private @inner(in %clk : !seq.clock, in %a : i8, out p : i8, out q : i8, out k : i8) {
  %0 = hw.constant 3 : i8
  %1 = seq.compreg %a, %clk : i8
  hw.output %1, %OTHER, %0 : i8, i8, i8
}
"""
OUTER = """hw.module @m(in %clk : !seq.clock, in %s : i1, in %a : i8, in %b : i8, out r : i8, out t : i8) {
  %0, %1, %2 = hw.instance "i" @inner(clk: %clk: !seq.clock, a: %a: i8) -> (p: i8, q: i8, k: i8)
  %3 = comb.mux %s, %0, %b : i8
  %4 = comb.mux %s, %1, %b : i8
  %5 = comb.xor %2, %3 : i8
  hw.output %OUT, %4 : i8, i8
}
"""


@pytest.mark.parametrize(
    ("op", "clock", "tables"),
    [
        ("arith.addf", 200.0, 377),
        ("arith.addf", 300.0, 346),
        ("arith.mulf", 200.0, 299),
        ("arith.mulf", 300.0, 324),
    ],
)
def test_a_float_unit_is_estimated_within_seven_per_cent(
    op: str, clock: float, tables: int
) -> None:
    unit = OperatorLibrary("xcup", clock).find(op, ("f32", "f32"), "f32")
    assert unit.unit_module is not None
    found = whole(module_resources(Netlist([unit.unit_module("rtl")]), "xcup"), unit.module)
    assert found["lut"] == pytest.approx(tables, rel=0.07)


@pytest.mark.parametrize(
    ("other", "out", "tables"), [("1", "3", 8), ("a", "3", 16), ("1", "5", 10)]
)
def test_outputs_that_are_one_value_are_read_as_one(other: str, out: str, tables: int) -> None:
    text = (INNER + OUTER).replace("%OTHER", f"%{other}").replace("%OUT", f"%{out}")
    assert whole(module_resources(read_netlist(text), "xcup"), "m") == {"lut": tables, "ff": 8}


def test_a_known_output_of_a_module_is_known_outside_of_it() -> None:
    text = (INNER + OUTER).replace("%OTHER", "%1").replace("%OUT", "%2")
    assert whole(module_resources(read_netlist(text), "xcup"), "m") == {"lut": 8, "ff": 8}


@pytest.mark.parametrize(
    ("device", "clock", "stages"),
    [("xcup", 200.0, 2), ("xcup", 300.0, 4), ("ecp5", 100.0, 6), ("generic", 200.0, 8)],
)
def test_a_multiplier_keeps_its_stages(device: str, clock: float, stages: int) -> None:
    unit = OperatorLibrary(device, clock).find("arith.mulf", ("f32", "f32"), "f32")
    assert unit.latency == stages
