"""Dataflow regions: hardware equals the simulator, on examples and on random regions."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from allo.backend.cpu import build_simulator
from allo.backend.rtl import compile_design
from allo.backend.sim import RTLModule
from allo.backend.sim import build as build_rtl
from allo.dialects.diagnostics import BuildError, SimulationError, UnsupportedOpError
from allo.target import BuildRequest

from .differential import random_arguments
from .pipelines import RandomRegion

DATA = Path(__file__).parents[1] / "data"
EXAMPLES = {"burst": "top", "forkjoin": "top", "nested": "outer", "systolic_i8": "top"}


def run_both(text: str, top: str, *, simulator: str = "jit", runs: int = 2) -> RTLModule:
    """Run the region in hardware and in the simulator on random inputs; equal bits."""
    options = {"simulator": simulator, "max_cycles": 20_000}
    rtl = build_rtl(BuildRequest(text, top, "verilog", options=options))
    reference = build_simulator(BuildRequest(text, top, "simulator"))
    rng = np.random.default_rng(7)
    for _ in range(runs):
        ours = random_arguments(text, top, rng)
        theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in ours]
        rtl(*ours)
        reference(*theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    return rtl


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str):
    run_both((DATA / f"dataflow_{name}.mlir").read_text(), EXAMPLES[name])


def test_an_example_in_verilator():
    text = (DATA / "dataflow_forkjoin.mlir").read_text()
    cycles = {run_both(text, "top", simulator=s).cycles for s in ("verilator", "jit")}
    assert len(cycles) == 1


@pytest.mark.parametrize("seed", [*range(12), 204])
def test_random_region(seed: int):
    run_both(RandomRegion(seed).text, RandomRegion.top)


def partitioned_systolic() -> str:
    """The systolic example with its arrays spread so that every process has a port."""
    lines = []
    for line in (DATA / "dataflow_systolic_i8.mlir").read_text().splitlines():
        for letter, name in (("a", "A"), ("b", "B")):
            if f"feed_{letter}" in line or f"%{letter}[" in line:
                line = line.replace("memref<8x8xi8>", f"memref<8x8xi8, #{letter}>")
            line = line.replace(f"%{name}: memref<8x8xi8>", f"%{name}: memref<8x8xi8, #{letter}>")
        lines.append(line.replace("memref<8x8xi32>", "memref<8x8xi32, #c>"))
    layouts = [
        "#a = affine_map<(d0, d1) -> (d0, 0, 0, d1)>",
        "#b = affine_map<(d0, d1) -> (0, d1, d0, 0)>",
        "#c = affine_map<(d0, d1) -> (d0, d1, 0, 0)>",
    ]
    return "\n".join([*layouts, *lines])


def test_systolic_array_takes_at_most_40_cycles():
    module = run_both(partitioned_systolic(), "top")
    assert module.cycles is not None and module.cycles <= 40


def test_equal_kernels_are_compiled_once():
    design = compile_design((DATA / "dataflow_systolic_i8.mlir").read_text(), "top")
    assert len(re.findall(r"^module pe\w*\(", design.verilog, re.MULTILINE)) == 1
    region = design.report.functions[-1]
    assert region.instances["pe"] == 64


def with_depth(text: str, stream: str, depth: int) -> str:
    """A region with another depth of one stream."""
    pattern = rf'(name = "{stream}", dtype = "\w+", depth = )\d+'
    return re.sub(pattern, rf"\g<1>{depth}", text)


def test_forkjoin_deadlocks_at_depth_1_as_the_simulator_does():
    text = with_depth((DATA / "dataflow_forkjoin.mlir").read_text(), "right", 1)
    options = {"simulator": "jit", "max_cycles": 2_000}
    module = build_rtl(BuildRequest(text, "top", "verilog", options=options))
    with pytest.raises(SimulationError):
        module(np.arange(12, dtype=np.int32), np.zeros(12, np.int32))


def test_two_consumers_of_a_stream_are_refused():
    text = (DATA / "dataflow_burst.mlir").read_text()
    call = "call @consumer_0(%B, %pipe) : (memref<32xf32>, index) -> ()"
    with pytest.raises(BuildError) as caught:
        compile_design(text.replace(call, f"{call}\n    {call}"), "top")
    assert "Stream pipe has 2 consumers: consumer_0, consumer_0." in str(caught.value)


def test_computation_in_a_region_is_refused():
    text = (DATA / "dataflow_burst.mlir").read_text()
    text = text.replace(
        '    %pipe = "allo.stream"',
        "    %one = arith.constant 1 : i32\n    %two = arith.addi %one, %one : i32\n"
        '    %pipe = "allo.stream"',
    )
    with pytest.raises(UnsupportedOpError) as caught:
        compile_design(text, "top")
    assert "A dataflow region cannot hold arith.addi." in str(caught.value)


KERNEL = """module {
func.func @f(%x: index, %y: index) attributes {arg_names = ["x", "y"],
    arg_types = ["stream<i16, 2>", "stream<i16, 2>"], itypes = "__", otypes = "", res_types = []} {
  %zero = arith.constant 0 : i16
  affine.for %i = 0 to 20 {
    %a = "allo.get"(%x) : (index) -> i16 loc("s.py":4:9)
    %c = arith.cmpi slt, %a, %zero : i16
    scf.if %c {
      %b = "allo.get"(%x) : (index) -> i16 loc("s.py":6:13)
      "allo.put"(%y, %b) : (index, i16) -> ()
    } else {
      "allo.put"(%y, %a) : (index, i16) -> ()
    }
  } {loop_name = "i", pipeline_ii = 1 : ui32}
  return
}
}"""


def test_a_get_that_depends_on_data_says_why_it_is_not_pipelined():
    loop = compile_design(KERNEL, "f").report.functions[0].loops[0]
    assert not loop.pipelined
    assert loop.limit.startswith("not pipelined: whether x is read (s.py:6:13) depends on data; ")


@pytest.mark.parametrize("stall", (0.0, 0.4))
def test_stream_ports_of_the_top_stand_stalls(stall: float):
    from allo.backend.sim import StreamModel

    streams = {name: StreamModel(stall=stall) for name in ("x", "y")}
    options = {"simulator": "jit", "streams": streams, "max_cycles": 5_000}
    module = build_rtl(BuildRequest(KERNEL, "f", "verilog", options=options))
    rng = np.random.default_rng(1)
    x = rng.integers(-100, 100, 40).astype(np.int16)
    y = np.zeros(20, np.int16)
    module(x, y)
    expected, position = [], 0
    for _ in range(20):
        word = x[position]
        position += 1
        if word < 0:
            word = x[position]
            position += 1
        expected.append(word)
    np.testing.assert_array_equal(y, expected)
