"""Units that Verilator takes as functions, in lock step with the same units as modules."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
from allo.backend.rtl.circt import export_verilog
from allo.backend.rtl.design import HardwareDesign, ScalarPort, SharedUnit
from allo.backend.rtl.operators.library import OperatorLibrary
from allo.backend.sim.engines.interface import BuildOptions, RunOptions, find_engine
from allo.backend.sim.engines.verilator.units import units_as_functions
from allo.dialects.reports.figures import DesignReport
from allo.ir.types import float32

UNITS = [
    ("arith.addf", "f32"),
    ("arith.mulf", "f16"),
    ("arith.divf", "f16"),
    ("arith.addf", "f64"),
    ("arith.muli", "i33"),
    ("arith.remsi", "i8"),
]
ROUND = """\
module round(  // a comment, with a comma
  input         clk,
                ce,
  input  [69:0] a,
                b,
  output [69:0] r
);

  reg  [69:0] x;
  reg         y;
  reg  [69:0] result_2;
  wire [69:0] later;
  wire [69:0] sum = x + later;
  always_ff @(posedge clk) begin
    if (ce)
      x <= y ? a : {7'h0, result_2[62:0]} ^ sum;
  end
  always_ff @(posedge clk) begin
    if (ce)
      y <= x[69] ^ x[0] ^ b[3];
  end
  always_ff @(posedge clk) begin
    if (ce)
      result_2 <= x + {69'h0, y};
  end
  reg  [69:0] result;
  always_ff @(posedge clk) begin
    if (ce)
      result <= result_2 & b;
  end
  assign later = result_2 | b;
  assign r = result;
endmodule
"""
"""Three registers of which each depends on the others, and one beyond 64 bits; wires out of order."""
CYCLES = 3000


def _units():
    library = OperatorLibrary("xcup", 300.0)
    for op, kind in UNITS:
        unit = library.find(op, (kind, kind), kind)
        yield unit.module, int(kind[1:]), export_verilog(unit.unit_module("rtl").text())
    yield "round", 70, ROUND


def _lock_step(made):
    """A design that runs each unit twice on random operands; bit 2n of its result is set where the n-th
    and its twin, a module that is not shared, differ, bit 2n + 1 when the n-th changed its result."""
    lines, texts = [], []
    for number, (name, width, text) in enumerate(made):
        twin = re.sub(rf"^module {name}\b", f"module {name}_twin", text, flags=re.MULTILINE)
        texts += [text, twin]
        ports = f".clk(clk), .ce(ce), .a(a[{width - 1}:0]), .b(b[{width - 1}:0])"
        lines += [
            f"  wire [{width - 1}:0] r{number}, t{number}; reg [{width - 1}:0] p{number};",
            f"  {name} u{number}({ports}, .r(r{number}));",
            f"  {name}_twin v{number}({ports}, .r(t{number}));",
            f"  always_ff @(posedge clk) p{number} <= r{number};",
            f"  always_ff @(posedge clk) if (rst) seen[{2 * number + 1}:{2 * number}] <= 0;",
            f"    else if (count > 100) seen[{2 * number + 1}:{2 * number}] <= "
            f"seen[{2 * number + 1}:{2 * number}] | {{p{number} != r{number}, r{number} != t{number}}};",
        ]
    top = f"""
module top(input clk, rst, start, output done, output [31:0] seen_all);
  reg [31:0] seen = 0; reg [15:0] count; reg [95:0] a, b; reg run;
  assign seen_all = seen;
  assign done = run & count == {CYCLES};
  wire ce = a[1] | b[2];
  always_ff @(posedge clk) begin
    run <= rst ? 1'b0 : start | run & ~done;
    count <= rst | start ? 16'd0 : count + 16'd1;
    a <= rst ? 96'h123456789abcdef : {{a[63:0], a[95:64] ^ a[92:61] ^ (a[40:9] << 5)}};
    b <= rst ? 96'hfedcba987654321 : {{b[62:0], b[95:63] ^ b[91:59] ^ (b[47:15] >> 7)}};
  end
{chr(10).join(lines)}
endmodule
"""
    return HardwareDesign(
        top="top",
        hw_text="",
        verilog="\n".join([*texts, top]),
        arguments=(),
        results=("seen_all",),
        scalars_in=(),
        scalars_out=(ScalarPort("seen_all", "ui32", 32),),
        arrays=(),
        report=DesignReport("test", "verilog", "top", 200.0, CYCLES),
        shared_units=tuple(SharedUnit(name, ()) for name, _, _ in made),
    )


def test_units_as_functions_are_the_modules_cycle_by_cycle():
    made = [*_units()]
    design = _lock_step(made)
    text, left = units_as_functions(design.verilog, design.shared_units)
    assert not left and text.count("endpackage") == len(made)
    model = find_engine("verilator").build(design, BuildOptions())
    seen = model.run({}, {}, RunOptions()).scalars["seen_all"]
    names = [name for name, _, _ in made]
    assert [n for k, n in enumerate(names) if seen >> 2 * k & 1] == []
    assert [n for k, n in enumerate(names) if not seen >> 2 * k & 2] == []


def scaled(a: float32[16], b: float32[16], c: float32[16]):
    for i in range(16):
        c[i] = (a[i] + 1.5) * b[i] / 3.0


def test_units_with_random_first_contents_give_the_same_floats():
    a, b = (np.random.default_rng(n).standard_normal(16).astype(np.float32) for n in (1, 2))
    want, got = np.zeros(16, np.float32), np.zeros(16, np.float32)
    schedule = allo.customize(scaled)
    schedule.build()(a, b, want)
    module = schedule.build(target="verilog", randomize=7)
    assert units_as_functions(module.design.verilog, module.design.shared_units)[1] == ()
    module(a, b, got)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if (ce)\n      y", "if (b[0])\n      y"),
        ("assign r = result;", "assign r = result + x;"),
        ("assign later = result_2 | b;", "assign later = sum | b;"),
        ("assign later = result_2 | b;", "assign later = result | b;"),
        ("wire [69:0] later", "wire signed [69:0] later"),
        ("reg         y", "reg         kept"),
    ],
)
def test_a_module_of_another_form_is_left_as_it_is(old, new):
    text, unit = ROUND.replace(old, new), SharedUnit("round", ())
    assert text != ROUND
    assert units_as_functions(text, [unit]) == (text, (unit,))
