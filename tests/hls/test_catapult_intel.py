"""The targets catapult and ihls: Siemens' open ac_int and ac_fixed against the CPU; text; tools."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.errors import BoundaryError, ToolMissingError, UnsupportedOpError
from allo.ir.types import Fixed, Int, UFixed, UInt, float32, int32
from allo.target import target_names

from .harness import build

DATA = Path(__file__).parent.parent / "data"
GEMM = (DATA / "gemm_f32.mlir").read_text()
FORK = (DATA / "dataflow_forkjoin.mlir").read_text()
NESTED = (DATA / "dataflow_nested.mlir").read_text()
RNG = np.random.default_rng(17)


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def mixed(A: Int(7)[6, 8], B: UInt(33)[6, 8], C: float32[6, 8]) -> float32[6, 8]:
    D: float32[6, 8] = 0
    for i, j in allo.grid(6, 8):
        wide: Int(90) = A[i, j] * B[i, j]
        if wide > 1000:
            D[i, j] = C[i, j] * 2.0
        else:
            D[i, j] = C[i, j] + allo.exp(C[i, j])
    return D


def scaled(A: Fixed(12, 5)[9], B: UFixed(40, 11)[9]) -> Fixed(20, 8)[9]:
    C: Fixed(20, 8)[9] = 0
    for i in range(9):
        C[i] = A[i] * B[i] + 1.25
    return C


def add(A: int32[8, 4], B: int32[8, 4]) -> int32[8, 4]:
    C: int32[8, 4] = 0
    for i, j in allo.grid(8, 4):
        C[i, j] = A[i, j] + B[i, j]
    return C


@pytest.mark.parametrize("target", ["catapult", "ihls"])
def test_odd_widths_and_math_equal_the_cpu_build(target):
    assert target in target_names()
    s = allo.customize(mixed)
    a = RNG.integers(-64, 64, (6, 8), np.int8)
    b = RNG.integers(0, 1 << 33, (6, 8), np.uint64)
    c = RNG.standard_normal((6, 8), np.float32)
    np.testing.assert_array_equal(s.build(target=target)(a, b, c), s.build()(a, b, c))


@pytest.mark.parametrize("target", ["catapult", "ihls"])
def test_fixed_point_is_ac_fixed_and_equals_the_cpu_build(target):
    s = allo.customize(scaled)
    mod = s.build(target=target)
    assert "ac_fixed<12, 7, true> A[9]" in mod.hls_code
    assert "ac_fixed<40, 29, false> B[9]" in mod.hls_code
    a, b = RNG.uniform(-60, 60, 9), RNG.uniform(0, 30, 9)
    np.testing.assert_array_equal(mod(a, b), s.build()(a, b))


def widened(A: UFixed(9, 4)[6], x: UFixed(9, 4)) -> Int(48)[6]:
    B: Int(48)[6] = 0
    last: UFixed(9, 4) = x
    for i in range(6):
        B[i] = A[i] + last
        last = A[i]
    return B


def test_fixed_point_scalars_convert_to_odd_widths():
    s = allo.customize(widened)
    a = RNG.uniform(0, 31, 6)
    np.testing.assert_array_equal(s.build(target="catapult")(a, 3.5), s.build()(a, 3.5))


# --- catapult ---------------------------------------------------------------------------


def test_catapult_text():
    s = allo.customize(mixed)
    s.pipeline("j", initiation_interval=2)
    s.unroll("i", factor=3)
    code = s.build(target="catapult").hls_code
    for header in ("ac_int.h", "ac_fixed.h", "ac_channel.h"):
        assert f"#include <{header}>" in code
    assert "#pragma hls_design top\nvoid mixed(\n  ac_int<7, true> A[6][8]," in code
    assert "ac_int<33, false> B[6][8]" in code and "ac_int<90, true> wide" in code
    lines = [line.strip().split("\t")[0] for line in code.splitlines()]
    at = lines.index("#pragma hls_pipeline_init_interval 2")
    assert lines[at + 1].startswith("l_j: for (int j = 0;")
    at = lines.index("#pragma hls_unroll 3")
    assert lines[at + 1].startswith("l_S_i_j_1_i: for") or lines[at + 1].startswith("l_S_i_j_0_i")
    assert "#pragma HLS" not in code and "ap_int" not in code and "hls::" not in code


def test_catapult_regions():
    code = build(FORK, "catapult").hls_code
    assert "ac_channel< int32_t >& left" in code
    assert "static ac_channel< int32_t > left;" in code
    assert "#pragma hls_design top\n#pragma hls_design dataflow\nvoid top(" in code
    blocks = build(NESTED, "catapult", "outer").hls_code
    assert "ac_channel< allo_vector< int16_t, 4 > >& blocks" in blocks
    assert "template <typename T, int N> struct allo_vector {" in blocks


def test_catapult_project(tmp_path):
    project = tmp_path / "p"
    mod = build(
        GEMM, "catapult", "gemm", mode="csim", project=str(project), configs={"frequency": 200}
    )
    assert files(project) == ["host.cpp", "kernel.cpp", "kernel.h", "run.tcl"]
    tcl = (project / "run.tcl").read_text()
    for line in ("go analyze", "go compile", "go assembly", "go extract"):
        assert f"\n{line}\n" in tcl
    assert "directive set -CLOCKS {clk {-CLOCK_PERIOD 5.00 " in tcl
    assert "directive set -DESIGN_HIERARCHY {gemm}" in tcl
    assert tcl.count("{") == tcl.count("}")
    a, b = RNG.random((6, 10), np.float32), RNG.random((10, 16), np.float32)
    np.testing.assert_array_equal(mod(a, b), build(GEMM, "llvm", "gemm")(a, b))
    build(GEMM, "catapult", "gemm", mode="csyn", project=str(tmp_path / "q"))
    assert files(tmp_path / "q") == ["kernel.cpp", "kernel.h", "run.tcl"]


def test_catapult_csyn_without_the_tool():
    mod = build(GEMM, "catapult", "gemm", mode="csyn")
    with pytest.raises(BoundaryError, match="csyn mode does not need to pass in arguments"):
        mod(np.zeros(3))
    assert mod().cycles > 0  # Allo's own Verilog
    strict = build(GEMM, "catapult", "gemm", mode="csyn", configs={"fallback": False})
    with pytest.raises(ToolMissingError, match="catapult is not available; csyn needs it"):
        strict()
    with pytest.raises(AssertionError, match="Invalid mode 'hw' for target catapult"):
        build(GEMM, "catapult", "gemm", mode="hw")


def test_catapult_without_headers(monkeypatch):
    monkeypatch.delenv("MGC_HOME", raising=False)
    monkeypatch.setattr("allo.backend.hls.csim.headers._installed", lambda part="": [])
    with pytest.raises(ToolMissingError) as caught:
        build(GEMM, "catapult", "gemm")(*np.zeros((2, 4, 4), np.float32))
    assert caught.value.message == "The C++ headers ac_int.h and ac_fixed.h were not found."
    assert "MGC_HOME" in caught.value.help


# --- ihls -------------------------------------------------------------------------------


def test_intel_text():
    s = allo.customize(add)
    s.pipeline("j")
    s.unroll("i", factor=2)
    mod = s.build(target="ihls")
    code = mod.hls_code
    assert mod.platform == "intel_hls" and str(mod) == code
    assert "h.single_task<Top>([=]() [[intel::kernel_args_restrict]] {" in code
    assert "add((int32_t (*)[4])A, (int32_t (*)[4])B, (int32_t (*)[4])C);" in code
    assert "void launch_add(sycl::queue &queue, int32_t *A, int32_t *B, int32_t *C) {" in code
    lines = [line.strip().split("\t")[0] for line in code.splitlines()]
    at = lines.index("[[intel::initiation_interval(1)]]")
    assert lines[at + 1].startswith("for (int j = 0; j < 4;")
    at = lines.index("#pragma unroll 2")
    assert lines[at + 1].startswith("for (int i = 0; i < 8;")
    a, b = RNG.integers(-99, 99, (2, 8, 4), np.int32)
    np.testing.assert_array_equal(mod(a, b), a + b)


def test_intel_gives_text_only(tmp_path):
    project = str(tmp_path / "p")
    for request, message in (
        ({"mode": "csim"}, "Target ihls has no modes, and was given mode 'csim'."),
        (
            {"project": project},
            f"Target ihls writes no project, and was given project {project!r}.",
        ),
    ):
        with pytest.raises(AssertionError, match=re.escape(message)):
            build(GEMM, "ihls", "gemm", **request)
    assert files(tmp_path) == []


def test_intel_refuses_fifos_with_their_line():
    with pytest.raises(UnsupportedOpError) as caught:
        build(FORK, "ihls")
    assert "allo.stream: the text for Intel is one task, without FIFOs" in caught.value.message
    assert caught.value.place.line == 4
