"""Both engines on one design: equal bits, equal cycles, equal to NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.rtl.circt import export_verilog
from allo.backend.sim.engines.interface import BuildOptions, RunOptions, find_engine
from allo.dialects.diagnostics import BuildError, SimulationError

from . import designs
from .row_engine import reference, row_engine


def test_a_row_engine_of_64_float_pairs():
    design = row_engine(64, 24)
    a, b, c = (array.shape for array in design.arrays)
    models = [find_engine(name).build(design, BuildOptions()) for name in ("verilator", "jit")]
    rng = np.random.default_rng(5)
    for exponent in (0, 20, -75):
        x = np.ldexp(rng.standard_normal(a), exponent).astype(np.float32)
        y = np.ldexp(rng.standard_normal(b), exponent).astype(np.float32)
        y[rng.random(b) < 0.1] = -0.0
        expected = reference(x, y)
        for model in models:
            out = np.full(c, np.nan, np.float32)
            words = {"A": x.view(np.uint32), "B": y.view(np.uint32), "C": out.view(np.uint32)}
            result = model.run(words, {}, RunOptions())
            assert result.cycles == design.report.cycles
            np.testing.assert_array_equal(out.view(np.uint32), expected.view(np.uint32))


def test_a_hung_run_names_its_registers():
    design = designs.vector_add(32, (3, 8))
    model = find_engine("jit").build(design, BuildOptions())
    words = {name: np.zeros((3, 8), np.uint32) for name in "ABC"}
    with pytest.raises(SimulationError) as caught:
        model.run(words, {}, RunOptions(max_cycles=5))
    note = str(caught.value).splitlines()[1]
    assert note == "note: where it stands: i = 4, run = 1, at = 3, write = 1, done = 0."


def test_a_register_may_reset_to_any_value():
    design = designs.scalar_adder(8)
    design.hw_text = design.hw_text.replace(
        "%r = seq.compreg %sum, %clk : i8",
        """%five = hw.constant 5 : i8
  %count = seq.compreg %more, %clk reset %rst, %five : i8
  %more = comb.add %count, %a : i8
  %r = seq.compreg %count, %clk : i8""",
    )
    design.verilog = export_verilog(design.hw_text)
    values = {}
    for name in ("verilator", "jit"):
        model = find_engine(name).build(design, BuildOptions())
        values[name] = [_counted(model) for _ in range(4)]
        model.reset()
        assert _counted(model) == values[name][0] == 5
    assert values["verilator"] == values["jit"]
    assert len(set(values["jit"])) > 1


def _counted(model):
    return model.run({}, {"a": 3, "b": 0}, RunOptions()).scalars["r"]


def test_waves_are_verilators():
    with pytest.raises(SimulationError, match="writes no waveforms"):
        find_engine("jit").build(designs.scalar_adder(), BuildOptions(wave="vcd"))


def test_an_external_module_is_refused():
    design = designs.scalar_adder()
    design.hw_text = "hw.module.extern @pll(in %x: i1)\n" + design.hw_text
    with pytest.raises(BuildError) as caught:
        find_engine("jit").build(design, BuildOptions())
    assert str(caught.value).startswith(
        "CIRCT's arc cannot simulate adder: modules are left after flattening (adder, pll)."
    )
