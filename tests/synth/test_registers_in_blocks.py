"""Registers of multipliers and long delays are where the device has them: in multiplier blocks, in SRLs."""

import re
from dataclasses import replace

import pytest

import allo
from allo.backend.rtl.circt import export_verilog, start_circt
from allo.backend.rtl.operators import OperatorLibrary
from allo.backend.synth.tools import find_yosys, run
from allo.ir.types import float32


@pytest.mark.parametrize(
    ("op", "kind", "blocks", "loose"),
    [("arith.muli", "i16", 1, 0), ("arith.muli", "i32", 2, 88), ("arith.mulf", "f32", 2, None)],
)
def test_a_multiplier_keeps_its_registers_in_its_blocks(tmp_path, op, kind, blocks, loose):
    """Yosys 0.70 takes registers into the DSP48E1 of 7-series alone, so this is where it can be seen."""
    unit = OperatorLibrary("xc7", 200.0).find(op, (kind, kind), kind)
    assert unit.unit_module is not None and unit.latency > 1
    start_circt()
    text = replace(unit.unit_module("rtl"), name="top", private=False).text()
    (tmp_path / "unit.sv").write_text(export_verilog(text))
    script = (
        "read_verilog -sv unit.sv; synth_xilinx -flatten -noiopad -noclkbuf -family xc7 -top top; "
        "write_verilog -noattr cells.v"
    )
    run(find_yosys(), ["-q", "-p", script], tmp_path, what="Synthesis", timeout=600)
    cells = (tmp_path / "cells.v").read_text()
    found = re.findall(r"\.(AREG|BREG|MREG)\(\d+'\w*?(\d)\)", cells)
    assert [name for name, _ in found] == ["AREG", "BREG", "MREG"] * blocks
    assert all(stages != "0" for _, stages in found), found
    if loose is not None:
        assert len(re.findall(r"\bFD[RSCP]E\b", cells)) == loose


def delayed(x: float32[32], y: float32[32], z: float32[32]):
    for i in range(32):
        z[i] = x[i] / (y[i] + 2.0) + x[i]


@pytest.mark.slow
def test_a_value_that_waits_for_long_is_a_shift_register():
    s = allo.customize(delayed)
    s.pipeline("i")
    mod = s.build(target="verilog", simulator="jit")
    found, estimate = mod.synthesize().resources, mod.report.resources
    assert found["srl"] >= 32
    assert estimate["srl"] == pytest.approx(found["srl"], rel=0.1)
