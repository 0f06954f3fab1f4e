"""Gemm in float32, utilisation, reasons for II, compile time."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from allo.backend.rtl import compile_design
from allo.dialects.reports.figures import DesignReport, LoopReport

from .differential import compare
from .gemm import gemm_text

DATA = Path(__file__).parents[1] / "data"


def loop_called(report: DesignReport, name: str) -> LoopReport:
    stack = [loop for f in report.functions for loop in f.loops]
    while stack:
        loop = stack.pop()
        if loop.name.endswith(name):
            return loop
        stack += loop.children
    raise AssertionError(name)


def test_gemm_keeps_its_units_busy():
    module = compare(gemm_text(60, 70, 80, 8), "gemm", runs=3)
    main = loop_called(module.report, "k*j.outer")
    assert (main.ii, main.trips, main.limit) == (1, 720, "")
    assert module.report.float_ops == 60 * (70 * 80 * 2 + 70) + 60 * 80 * 9
    assert module.report.utilisation is not None and module.report.utilisation >= 0.9


def test_gemm_without_partition_names_the_port():
    report = compile_design(gemm_text(60, 70, 80, 8, partition=False), "gemm").report
    assert loop_called(report, "k*j.outer").limit == (
        "II=8: 8 reads of C_row (gemm.py:5:9) and 8 writes of C_row (gemm.py:5:9) need 8 cycles "
        "of bank 0's 2 ports; partition C_row on dim 1 by 8"
    )
    assert loop_called(report, "j_init").limit == (
        "II=4: 8 reads of C_in (gemm.py:4:13) need 4 cycles of bank 0's 2 ports; "
        "partition C_in on dim 2 by 4"
    )


def test_a_short_row_names_the_recurrence(figures):
    report = compile_design((DATA / "gemm_f32.mlir").read_text(), "gemm", clock_mhz=300).report
    loop = loop_called(report, "k*j.outer")
    pattern = (
        r"II=(\d+): C_row line 5 -> line 5 \(gemm\.py:5:9\) through fadd_f32, "
        r"latency (\d+), distance 2; `s\.interleave`, .*"
    )
    found = re.fullmatch(pattern, loop.limit)
    assert found is not None, loop.limit
    interval, latency = map(int, found.groups())
    assert loop.ii == interval == math.ceil(latency / 2)
    figures.hold("rtl.short_row.latency", latency)


def test_example_files_in_verilator():
    compare((DATA / "gemm_f32.mlir").read_text(), "gemm", simulator="verilator")
    compare((DATA / "calls_i8.mlir").read_text(), "top", simulator="verilator")


def test_special_values_pass_through_gemm():
    from allo.backend.cpu import build as build_cpu
    from allo.backend.sim import build as build_rtl
    from allo.target import BuildRequest

    text = gemm_text(3, 6, 5, 3)
    rtl = build_rtl(BuildRequest(text, "gemm", "verilog", options={"simulator": "verilator"}))
    cpu = build_cpu(BuildRequest(text, "gemm", "llvm"))
    rng = np.random.default_rng(3)
    special = np.array([0.0, -0.0, 1e-45, -1e-40, 1.5, -2.0, 3e38, np.inf, -np.inf], np.float32)
    for _ in range(20):
        arrays = [rng.choice(special, shape) for shape in ((3, 5), (5, 6), (3, 6))]
        got, want = rtl(*arrays), cpu(*arrays)
        nan = np.isnan(want)
        np.testing.assert_array_equal(np.isnan(got), nan)
        np.testing.assert_array_equal(got.view(np.uint32)[~nan], want.view(np.uint32)[~nan])


def test_verilog_names_the_line_it_comes_from():
    assert "gemm.py:5:9" in compile_design(gemm_text(60, 70, 80, 8), "gemm").verilog


def test_text_grows_linearly_with_lanes():
    lines = [
        compile_design(gemm_text(4, lanes * 16, 4, lanes), "gemm").verilog.count("\n")
        for lanes in (16, 64)
    ]
    assert lines[1] < 4.2 * lines[0]
