"""RTLModule: the CPU build's calling convention, waves, projects, errors."""

from __future__ import annotations

import json

import numpy as np
import pytest

from allo.backend.rtl.circt import export_verilog
from allo.backend.sim import MemoryChannel, RTLModule, SimulationOptions
from allo.dialects.boundary.arguments import Parameter, Signature
from allo.dialects.core.partition import Partition
from allo.dialects.diagnostics import BoundaryError, BuildError, DTypeWarning, SimulationError
from allo.dialects.types import Stream, UInt, parse_type
from allo.target import BuildRequest

from . import designs


def vector_module(width=32, shape=(3, 8), **options):
    dtype = parse_type(f"ui{width}")
    arguments = tuple(Parameter(n, dtype, shape, None, n == "C") for n in "ABC")
    design = designs.vector_add(width, shape, Partition.Block)
    return RTLModule(design, Signature("vadd", arguments, ()), SimulationOptions(**options))


def adder_module(**options):
    design = designs.scalar_adder(13)
    number = parse_type("ui13")
    arguments = (Parameter("a", number, None), Parameter("b", number, None))
    signature = Signature("adder", arguments, (Parameter("result", number, None),))
    return RTLModule(design, signature, SimulationOptions(**options))


@pytest.fixture(scope="module", params=["verilator", "jit"])
def vadd(request):
    return vector_module(simulator=request.param)


def test_arrays_are_written_in_place(vadd, figures):
    rng = np.random.default_rng(3)
    for _ in range(5):
        a, b = rng.integers(0, 1 << 32, size=(2, 3, 8), dtype=np.uint32)
        c = rng.integers(0, 1 << 32, size=(3, 8), dtype=np.uint32)
        assert vadd(a, b, c) is None
        np.testing.assert_array_equal(c, a + b)
    assert vadd.cycles == vadd.report.measured_cycles
    figures.hold("sim.vadd.cycles", vadd.cycles, report=vadd.report.cycles)


def test_arrays_of_another_dtype_are_converted_and_written_back(vadd):
    a = np.arange(24, dtype=np.int64).reshape(3, 8) - 5
    c = np.zeros((3, 8), np.float64)
    with pytest.warns(DTypeWarning) as caught:
        vadd(a, a.astype(np.uint32), c)
    assert [str(w.message)[:18] for w in caught] == ["Argument A of vadd", "Argument C of vadd"]
    np.testing.assert_array_equal(c, (2 * a) % (1 << 32))


@pytest.mark.parametrize("simulator", ["verilator", "jit"])
def test_scalars_of_any_width(simulator):
    module = adder_module(simulator=simulator)
    rng = np.random.default_rng(9)
    for a, b in rng.integers(0, 1 << 13, size=(20, 2)):
        result = module(int(a), int(b))
        assert type(result) is int
        assert result == (a + b) % (1 << 13)
    assert module((1 << 13) - 1, np.int64(2)) == 1
    with pytest.raises(BoundaryError, match="-1 is out of range, which is 0 to 8191"):
        module(-1, np.int64(2))


def test_wrong_arguments_are_refused(vadd):
    a = np.zeros((3, 8), np.uint32)
    with pytest.raises(BoundaryError) as caught:
        vadd(a, a)
    assert "# of input arguments mismatch, got 2 but expected 3." in str(caught.value)
    with pytest.raises(BoundaryError, match=r"got an array of shape \(8, 3\)"):
        vadd(a, a.T.copy(), a.copy())
    with pytest.raises(BoundaryError, match="not contiguous"):
        vadd(a, np.zeros((3, 16), np.uint32)[:, ::2], a.copy())


def test_the_text_and_the_name():
    module = vector_module()
    assert str(module) == module.verilog == module.design.verilog
    assert "module vadd(" in str(module)
    assert repr(module) == "RTLModule(vadd, simulator='verilator')"


def test_a_waveform_with_its_companions(tmp_path):
    module = vector_module()
    module.design.debug = {"vadd": {"done": "gemm.py:3", "gone": "gemm.py:4"}, "x": {"y": "z"}}
    a = np.arange(24, dtype=np.uint32).reshape(3, 8)
    c = np.zeros_like(a)
    module(a, a, c, wave=tmp_path / "x.vcd")
    np.testing.assert_array_equal(c, 2 * a)
    vcd = (tmp_path / "x.vcd").read_text()
    assert "$var" in vcd and "A_0_addr" in vcd
    ends = [int(line[1:]) for line in vcd.splitlines() if line.startswith("#")]
    assert ends[-1] >= 13 * 10_000
    layout = (tmp_path / "x.gtkw").read_text()
    assert "TOP.vadd.C_1_wdata[31:0]" in layout and "TOP.vadd.done" in layout
    known = json.loads((tmp_path / "x.map.json").read_text())
    assert known == {"vadd": {"done": "gemm.py:3"}}


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("x.wlf", 'x.wlf names no kind of waveform.\nhelp: wave= takes a file that ends in ".vcd"'),
        ("none/x.vcd", "does not exist.\nhelp: make it first."),
    ],
)
def test_a_waveform_that_cannot_be(tmp_path, file, message):
    a = np.zeros((3, 8), np.uint32)
    with pytest.raises(SimulationError) as caught:
        vector_module()(a, a, a.copy(), wave=tmp_path / file)
    assert message in str(caught.value)


def test_a_project_is_replaced_in_one_piece(tmp_path, monkeypatch):
    module = vector_module()
    folder = module.write_project(tmp_path / "vadd.prj")
    assert (folder / "vadd.sv").read_text() == module.verilog
    assert json.loads((folder / "report.json").read_text())["cycles"] == module.report.cycles
    assert "<html" in (folder / "report.html").read_text()
    before = sorted(p.name for p in folder.iterdir())
    monkeypatch.setattr(type(module.report), "html", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        module.write_project(folder)
    assert sorted(p.name for p in folder.iterdir()) == before
    assert [p.name for p in tmp_path.iterdir()] == ["vadd.prj"]
    monkeypatch.undo()
    module.write_project(folder)
    assert sorted(p.name for p in folder.iterdir()) == before


def test_a_folder_of_the_users_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(BuildError) as caught:
        vector_module().write_project(tmp_path)
    assert "exists and was not written by Allo." in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_limit_for_one_run(vadd):
    a = np.zeros((3, 8), np.uint32)
    with pytest.raises(SimulationError, match="vadd was not done after 3 cycles"):
        vadd(a, a, a.copy(), max_cycles=3)


@pytest.mark.parametrize(("kind", "shape"), [("ui32", ()), ("i24", (2, 3)), ("i24", (4, 5))])
def test_stream_arguments_are_arrays(kind, shape):
    element = parse_type(kind)
    block = int(np.prod(shape))
    design = designs.stream_adder(40, element.bits * block, element=kind)
    number = UInt(element.bits * block)
    stream = Stream(element, shape, 2)
    arguments = (
        Parameter("n", number, None),
        Parameter("x", stream, None),
        Parameter("y", stream, None),
    )
    module = RTLModule(design, Signature("offset", arguments, ()), SimulationOptions("jit"))
    low, high = (-(1 << 23), 1 << 23) if kind == "i24" else (0, 1 << 31)
    x = np.random.default_rng(1).integers(low, high, (40, *shape))
    x = x.astype(np.uint32 if kind == "ui32" else np.int32)
    y = np.zeros_like(x)
    module(0, x, y)
    np.testing.assert_array_equal(y, x)
    assert module.traffic.streams["x"].words == 40


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(BuildError) as caught:
        BuildRequest("module {}", "f", "verilog", options={"clok_mhz": 100})
    assert "Target verilog has no option 'clok_mhz'.\nhelp: did you mean 'clock_mhz'?" in str(
        caught.value
    )


def test_fst_without_its_headers_says_what_to_install(monkeypatch, tmp_path):
    fake = tmp_path / "g++"
    fake.write_text("#!/bin/sh\ncase $1 in -fsyntax-only) exit 1;; *) echo 12;; esac\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path / "cache"))
    a = np.zeros((3, 8), np.uint32)
    with pytest.raises(BuildError) as caught:
        vector_module()(a, a, a.copy(), wave=tmp_path / "x.fst")
    assert str(caught.value) == (
        "FST waveforms need the headers of lz4 and zlib, which are not installed.\n"
        "help: run `apt-get install liblz4-dev zlib1g-dev`, or write a .vcd file instead."
    )


def test_a_variant_is_the_same_design_in_another_world(vadd):
    rng = np.random.default_rng(6)
    a, b = rng.integers(0, 1 << 32, size=(2, 3, 8), dtype=np.uint32)
    ideal, slow = np.zeros_like(a), np.zeros_like(a)
    vadd(a, b, ideal)
    cycles = vadd.cycles
    tried = vadd.variant(memory={"A": MemoryChannel("m", 1)}, simulator="jit")
    tried(a, b, slow)
    np.testing.assert_array_equal(slow, ideal)
    assert tried.cycles > 90 > cycles == vadd.cycles == vadd.report.measured_cycles
    assert tried.options.simulator == "jit" and vadd.options.memory is None


@pytest.mark.parametrize("simulator", ["verilator", "jit"])
def test_first_contents_of_registers_do_not_matter_after_reset(simulator):
    rng = np.random.default_rng(6)
    a, b = rng.integers(0, 1 << 32, size=(2, 3, 8), dtype=np.uint32)
    for seed in (1, 2):
        c = np.zeros_like(a)
        module = vector_module(simulator=simulator, randomize=seed)
        module(a, b, c)
        np.testing.assert_array_equal(c, a + b)


@pytest.mark.values_elsewhere("the values are random, and must differ")
@pytest.mark.parametrize("simulator", ["verilator", "jit"])
def test_a_register_without_reset_shows_when_its_first_content_is_random(simulator):
    design = designs.scalar_adder(13)
    design.hw_text = design.hw_text.replace(
        "%r = seq.compreg %sum, %clk : i13",
        "%keep = seq.compreg %keep, %clk : i13\n"
        "  %mixed = comb.add %sum, %keep : i13\n"
        "  %r = seq.compreg %mixed, %clk : i13",
    )
    design.verilog = export_verilog(design.hw_text)
    number = parse_type("ui13")
    arguments = (Parameter("a", number, None), Parameter("b", number, None))
    signature = Signature("adder", arguments, (Parameter("result", number, None),))
    module = RTLModule(design, signature, SimulationOptions(simulator, randomize=3))
    found = [module(1, 2)] + [module.variant(randomize=seed)(1, 2) for seed in (4, 5)]
    assert len(set(found)) == 3
