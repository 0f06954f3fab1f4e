"""The targets pynq and tapa: csim against the CPU, projects, tools that are missing."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.backend.hls import is_available
from allo.backend.hls.csim.headers import RUNTIME, SHIMS, open_headers
from allo.backend.hls.errors import HlsConfigError
from allo.errors import AlloError, BoundaryError, DeadlockError, ToolMissingError
from allo.ir.types import float32, int8
from allo.target import target_names

from .harness import build
from .programs import program

DATA = Path(__file__).parent.parent / "data"
GEMM = (DATA / "gemm_f32.mlir").read_text()
CALLS = (DATA / "calls_i8.mlir").read_text()
FORK = (DATA / "dataflow_forkjoin.mlir").read_text()
SYSTOLIC = (DATA / "dataflow_systolic_i8.mlir").read_text()
TAPA_SHIM = Path(__file__).parent / "tapa_shim"
RNG = np.random.default_rng(11)


def scaled(A: float32[6, 8], x: float32, B: int8[6, 8]) -> float32[6, 8]:
    C: float32[6, 8] = 0
    for i, j in allo.grid(6, 8):
        if B[i, j] > 3:
            C[i, j] = A[i, j] * x
        else:
            C[i, j] = A[i, j] + B[i, j]
    return C


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("target", ["pynq", "tapa"])
def test_csim_equals_the_cpu_build(target, tmp_path):
    assert target in target_names()
    s = allo.customize(scaled)
    s.pipeline("j")
    mod = s.build(target=target, mode="csim", project=str(tmp_path / "p"))
    a, b = RNG.standard_normal((6, 8), np.float32), RNG.integers(-8, 9, (6, 8), np.int8)
    expected = s.build()(a, 1.5, b)
    np.testing.assert_array_equal(mod(a, 1.5, b), expected)
    given = np.zeros((6, 8), np.float32)
    assert mod(a, 1.5, b, given) is None
    np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("target", ["pynq", "tapa"])
@pytest.mark.parametrize("wrap_io", [True, False])
def test_text_data_runs_with_and_without_io_functions(target, wrap_io):
    a, b = RNG.random((6, 10), np.float32), RNG.random((10, 16), np.float32)
    got = build(GEMM, target, "gemm", mode="csim", wrap_io=wrap_io)(a, b)
    np.testing.assert_array_equal(got, build(GEMM, "llvm", "gemm")(a, b))


@pytest.mark.parametrize("target", ["pynq", "tapa"])
def test_csim_of_a_region(target):
    a, got, expected = RNG.integers(-99, 99, 12, np.int32), *np.zeros((2, 12), np.int32)
    build(FORK, target, mode="csim")(a, got)
    build(FORK, "llvm")(a, expected)
    np.testing.assert_array_equal(got, expected)


# --- pynq -----------------------------------------------------------------------------


def test_pynq_project(tmp_path):
    mod = build(GEMM, "pynq", "gemm", mode="impl", project=str(tmp_path / "p"))
    assert files(tmp_path / "p") == [
        "block_design.tcl",
        "deploy.py",
        "kernel.cpp",
        "kernel.h",
        "run.tcl",
        "tb.cpp",
    ]
    kernel, header = ((tmp_path / "p" / n).read_text() for n in ("kernel.cpp", "kernel.h"))
    assert 'extern "C" {' in kernel and 'extern "C" {' in header and "#ifndef KERNEL_H" in header
    assert "#pragma HLS interface m_axi port=A offset=slave bundle=gmem0" in kernel
    assert "#pragma HLS interface s_axilite port=A bundle=control" in kernel
    assert "#pragma HLS interface s_axilite port=return bundle=control" in kernel
    tcl = (tmp_path / "p" / "run.tcl").read_text()
    assert "set_part {xc7z020clg400-1}" in tcl
    assert "export_design -rtl verilog -format ip_catalog" in tcl
    design = (tmp_path / "p" / "block_design.tcl").read_text()
    assert "processing_system7" in design and "/gemm_0/m_axi_gmem2" in design
    assert design.count("{") == design.count("}")
    deploy = ast.parse((tmp_path / "p" / "deploy.py").read_text())
    (ports,) = [n for n in deploy.body if isinstance(n, ast.Assign)]
    assert [p[:2] for p in ast.literal_eval(ports.value)] == [("A", 240), ("B", 640), ("res2", 384)]
    assert repr(mod) == f"HLSModule(gemm, impl, {tmp_path / 'p'})"


def test_pynq_csim_writes_no_deploy_program_and_takes_other_boards(tmp_path):
    configs = {"device": "ultra96v2", "frequency": 150}
    build(GEMM, "pynq", "gemm", mode="csim", project=str(tmp_path / "p"), configs=configs)
    assert "deploy.py" not in files(tmp_path / "p")
    design = (tmp_path / "p" / "block_design.tcl").read_text()
    assert "zynq_ultra_ps_e" in design and "MHZ {150}" in design


@pytest.mark.parametrize(
    ("device", "asked", "made"),
    [
        ("pynqz2", None, "100"),
        ("zedboard", 250, "250"),
        ("pynqz2", 150, "142.857"),  # 1000 MHz by 7
        ("ultra96v2", None, "300"),
        ("zcu104", 160, "150"),  # 1500 MHz by 10
    ],
)
def test_pynq_asks_for_clocks_that_the_board_makes(device, asked, made, tmp_path):
    configs = {"device": device} | ({} if asked is None else {"frequency": asked})
    build(GEMM, "pynq", "gemm", mode="csyn", project=str(tmp_path / "p"), configs=configs)
    assert f"MHZ {{{made}}}" in (tmp_path / "p" / "block_design.tcl").read_text()
    period = f"{1000 / (asked or float(made)):.2f}"
    assert f"create_clock -period {period}\n" in (tmp_path / "p" / "run.tcl").read_text()


@pytest.mark.parametrize(("device", "asked", "most"), [("pynqz2", 300, 250), ("zcu104", 450, 400)])
def test_a_clock_that_the_board_cannot_make_is_refused(device, asked, most, tmp_path):
    configs = {"device": device, "frequency": asked}
    with pytest.raises(
        HlsConfigError, match=f"of {device} makes .* to {most} MHz .* not of {asked}"
    ):
        build(GEMM, "pynq", "gemm", mode="csyn", project=str(tmp_path / "p"), configs=configs)
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(("device", "cells"), [("pynqz2", "xc7"), ("ultra96v2", "xcup")])
def test_pynq_without_the_tool_uses_the_boards_family(device, cells):
    report = build(CALLS, "pynq", mode="csyn", configs={"device": device})()
    assert report.device == cells


def test_pynq_runs_on_boards_only(tmp_path):
    with pytest.raises(AlloError) as caught:
        build(
            GEMM,
            "pynq",
            "gemm",
            mode="csyn",
            project=str(tmp_path / "p"),
            configs={"device": "u280"},
        )
    assert caught.value.message == "Device u280 is no board PYNQ runs on."
    assert "pynqz2" in caught.value.help and "u250" not in caught.value.help
    assert not (tmp_path / "p").exists()


def test_pynq_impl_needs_vivado():
    with pytest.raises(ToolMissingError) as caught:
        build(GEMM, "pynq", "gemm", mode="impl")()
    assert caught.value.message == "vivado is not available; mode impl of target pynq needs it."


def test_pynq_csyn_uses_own_verilog_and_no_arguments():
    mod = build(CALLS, "pynq", mode="csyn")
    with pytest.raises(BoundaryError, match="csyn mode does not need to pass in arguments"):
        mod(np.zeros(4, np.int8))
    assert mod().cycles > 0


# --- tapa -----------------------------------------------------------------------------


def compiled(project: Path) -> Path:
    """The project's own kernel and host, by g++ against the shim of TAPA's interface."""
    folders = (TAPA_SHIM, SHIMS, RUNTIME, open_headers())
    command = ["g++", "-std=c++17", "-w", "-pthread", *(f"-I{f}" for f in folders)]
    return program(project, command, ["tapa_host.cpp", "kernel.cpp"])


def test_tapa_project_compiles_and_runs(tmp_path):
    project = tmp_path / "p"
    mod = build(GEMM, "tapa", "gemm", mode="csim", project=str(project))
    assert files(project) == ["Makefile", "kernel.cpp", "kernel.h", "tapa_host.cpp"]
    assert "void gemm(\n  tapa::mmap< float > A,\n  tapa::mmap< float > B," in mod.hls_code
    assert "m_axi" not in mod.hls_code and "#include <tapa.h>" in mod.hls_code
    host = compiled(project)
    a, b = RNG.random((6, 10), np.float32), RNG.random((10, 16), np.float32)
    a.tofile(project / "input0.data")
    b.tofile(project / "input1.data")
    subprocess.run([host], cwd=project, check=True, timeout=60)
    got = np.fromfile(project / "output.data", np.float32).reshape(6, 16)
    np.testing.assert_array_equal(got, build(GEMM, "llvm", "gemm")(a, b))


def test_a_region_is_a_graph_of_tasks(tmp_path):
    project = tmp_path / "p"
    mod = build(FORK, "tapa", mode="csim", project=str(project))
    code = mod.hls_code
    assert (
        "void fork_0(\n  tapa::mmap< int32_t > a,\n  tapa::ostream< int32_t >& left,\n"
        "  tapa::ostream< int32_t >& right\n) {"
    ) in code
    assert "void total_0(\n  tapa::istream< int32_t >& left," in code
    top = [line.split("\t")[0] for line in code[code.index("/// This is top") :].splitlines()]
    assert top[5:] == [
        '  tapa::stream< int32_t, 1 > left("left");',
        '  tapa::stream< int32_t, 3 > right("right");',
        '  tapa::stream< int32_t, 1 > sums("sums");',
        "  tapa::task()",
        "    .invoke(fork_0, A, left, right)",
        "    .invoke(total_0, left, sums)",
        "    .invoke(join_0, B, sums, right);",
        "}",
    ]
    host = compiled(project)
    a, expected = RNG.integers(-99, 99, 12, np.int32), np.zeros(12, np.int32)
    a.tofile(project / "input0.data")
    np.zeros(12, np.int32).tofile(project / "input1.data")
    subprocess.run([host], cwd=project, check=True, timeout=60)
    build(FORK, "llvm")(a, expected)
    np.testing.assert_array_equal(np.fromfile(project / "output.data", np.int32), expected)


def test_arrays_of_two_dimensions_reach_the_tasks_of_a_region(tmp_path):
    project = tmp_path / "p"
    mod = build(SYSTOLIC, "tapa", mode="csim", project=str(project))
    a, b = RNG.integers(-128, 128, (2, 8, 8), np.int8)
    expected = a.astype(np.int32) @ b.astype(np.int32)
    got = np.zeros((8, 8), np.int32)
    mod(a, b, got)
    np.testing.assert_array_equal(got, expected)
    host = compiled(project)
    for position, array in enumerate((a, b, np.zeros((8, 8), np.int32))):
        array.tofile(project / f"input{position}.data")
    subprocess.run([host], cwd=project, check=True, timeout=60)
    np.testing.assert_array_equal(
        np.fromfile(project / "output.data", np.int32).reshape(8, 8), expected
    )


def test_tapa_names_and_modes(tmp_path):
    with pytest.raises(AlloError, match="cannot be named kernel: the tapa project"):
        build(GEMM.replace("@gemm", "@kernel"), "tapa", "kernel", mode="csim")
    with pytest.raises(AssertionError, match="Invalid mode 'csyn' for target tapa") as caught:
        build(GEMM, "tapa", "gemm", mode="csyn")
    assert "csim, fast_hw_emu, hw_emu, hw" in caught.value.help
    with pytest.raises(AssertionError, match="mode must be specified when project is specified"):
        build(GEMM, "tapa", "gemm", project=str(tmp_path / "p"))


def test_tapa_emulation_needs_tapa(monkeypatch):
    assert not is_available("tapa", tool=True)
    a, b = RNG.random((6, 10), np.float32), RNG.random((10, 16), np.float32)
    with pytest.raises(ToolMissingError) as caught:
        mod = build(GEMM, "tapa", "gemm", mode="fast_hw_emu", configs={"fallback": False})
        mod(a, b, np.zeros((6, 16), np.float32))
    assert caught.value.message == "tapa is not available; mode fast_hw_emu needs it."
    assert "tapa.readthedocs.io" in caught.value.help


def test_tapa_deadlocks_are_reported_as_elsewhere():
    shallow = FORK.replace("depth = 3 : i32", "depth = 1 : i32")
    if shallow == FORK:
        pytest.fail("the test's program has another text")
    with pytest.raises(DeadlockError, match="top deadlocks"):
        build(shallow, "tapa", mode="csim")(*np.zeros((2, 12), np.int32))
