"""Projects: their files, atomic writing, and what a user can ask wrongly."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.backend.hls.csim.headers import RUNTIME, SHIMS, open_headers
from allo.errors import BuildError, ToolFailedError, ToolMissingError

from .harness import build, function, module
from .programs import program

DATA = Path(__file__).parent.parent / "data"
CALLS = (DATA / "calls_i8.mlir").read_text()
GEMM = (DATA / "gemm_f32.mlir").read_text()

VITIS_FILES = """
    Makefile README.md description.json hls.cfg hls_pre.tcl host.cpp kernel.cpp kernel.h
    makefile_us_alveo.mk makefile_versal.mk makefile_zynq7000.mk makefile_zynqmp.mk
    run.tcl tb.cpp xcl2.cpp xcl2.hpp""".split()


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_vitis_project_has_the_published_files(tmp_path):
    project = tmp_path / "a" / "top.prj"
    mod = build(CALLS, "vitis_hls", mode="csim", project=str(project))
    assert files(project) == VITIS_FILES
    kernel = (project / "kernel.cpp").read_text()
    assert 'extern "C" {' in kernel
    assert "void top(\n  int8_t *A," in kernel
    assert "#pragma HLS interface m_axi port=A offset=slave bundle=gmem0" in kernel
    assert "load_buf0(A, buf0);" in kernel
    assert "store_res3(buf3, D);" in kernel
    assert "#pragma HLS pipeline II=1 rewind" in kernel
    assert "load_buf3" not in kernel  # D is written whole before it is read
    tcl = (project / "run.tcl").read_text()
    assert "set_part {xcu280-fsvh2892-2L-e}" in tcl
    assert "create_clock -period 3.33" in tcl
    assert "csim_design -O" in tcl
    assert "csynth_design" not in tcl
    assert repr(mod) == f"HLSModule(top, csim, {project})"
    assert mod.num_output_args == 1
    assert mod.host_code == (project / "host.cpp").read_text()


def test_project_test_bench_runs_the_kernel(tmp_path):
    """The test bench that vendor co-simulation uses, compiled here by g++."""
    project = tmp_path / "p"
    build(GEMM, "vitis_hls", "gemm", mode="csim", project=str(project))
    includes = [f"-I{folder}" for folder in (SHIMS, RUNTIME, open_headers())]
    bench = program(project, ["g++", "-std=c++14", "-w", *includes], ["tb.cpp", "kernel.cpp"])
    rng = np.random.default_rng(3)
    a, b = rng.random((6, 10), np.float32), rng.random((10, 16), np.float32)
    a.tofile(project / "input0.data")
    b.tofile(project / "input1.data")
    subprocess.run([bench], cwd=project, check=True, timeout=60)
    got = np.fromfile(project / "output0.data", np.float32).reshape(6, 16)
    np.testing.assert_array_equal(got, build(GEMM, "llvm", "gemm")(a, b))


def test_vivado_project(tmp_path):
    build(CALLS, "vivado_hls", mode="csyn", project=str(tmp_path / "p"))
    assert files(tmp_path / "p") == [
        "Makefile",
        "kernel.cpp",
        "kernel.h",
        "run.tcl",
        "tb.cpp",
        "timer.h",
    ]
    assert 'extern "C"' not in (tmp_path / "p" / "kernel.cpp").read_text()
    assert "csynth_design" in (tmp_path / "p" / "run.tcl").read_text()


@pytest.mark.parametrize(
    ("device", "part", "export"),
    [
        ("zcu102", "xczu9eg-ffvb1156-2-e", "export_design -flow impl"),
        ("zedboard", "xc7z020clg484-1", "export_design -rtl verilog -format ip_catalog"),
    ],
)
def test_device_frequency_and_hbm_mapping(tmp_path, device, part, export):
    configs = {
        "device": device,
        "frequency": 150,
        "hbm_mapping": {"A": 3, "B": "HBM[7]", "output_0": "DDR[1]"},
    }
    build(CALLS, "vitis_hls", mode="hw", project=str(tmp_path / "p"), configs=configs)
    tcl = (tmp_path / "p" / "run.tcl").read_text()
    assert f"set_part {{{part}}}" in tcl
    assert "create_clock -period 6.67" in tcl
    assert export in tcl
    assert (tmp_path / "p" / "top.cfg").read_text() == (
        "[connectivity]\nsp=top_1.A:HBM[3]\nsp=top_1.B:HBM[7]\nsp=top_1.D:DDR[1]\n"
    )


def test_existing_project_keeps_foreign_files(tmp_path):
    project = tmp_path / "p"
    build(CALLS, "vivado_hls", mode="csim", project=str(project))
    (project / "host.cpp").write_text("int main() {}\n")
    build(GEMM, "vivado_hls", "gemm", mode="csim", project=str(project))
    assert (project / "host.cpp").read_text() == "int main() {}\n"
    assert "void gemm(" in (project / "kernel.cpp").read_text()
    assert files(tmp_path) == ["p"]


def test_failed_build_leaves_the_project_as_it_was(tmp_path):
    project = tmp_path / "p"
    build(GEMM, "vitis_hls", "gemm", mode="csim", project=str(project))
    before = {p.name: p.read_bytes() for p in project.iterdir()}
    unknown = module(
        function(
            "top",
            "%a: memref<4xi32>",
            "%t = tensor.empty() : tensor<4xi32>\nreturn",
            ["i32"],
        )
    )
    with pytest.raises(BuildError, match="cannot print the operation tensor.empty"):
        build(unknown, "vitis_hls", mode="csim", project=str(project))
    with pytest.raises(BuildError, match="Device u999 not supported"):
        build(CALLS, "vitis_hls", mode="csim", project=str(project), configs={"device": "u999"})
    with pytest.raises(BuildError, match="is no port of top"):
        configs = {"hbm_mapping": {"Q": 1}}
        build(CALLS, "vitis_hls", mode="csim", project=str(project), configs=configs)
    assert {p.name: p.read_bytes() for p in project.iterdir()} == before
    assert files(tmp_path) == ["p"]


def test_project_on_a_file_is_refused(tmp_path):
    (tmp_path / "p").write_text("mine")
    with pytest.raises(BuildError) as caught:
        build(CALLS, "vitis_hls", mode="csim", project=str(tmp_path / "p"))
    assert str(caught.value) == (
        f"The project folder {tmp_path / 'p'} cannot be written: it is a file.\n"
        "help: give another project=…, or free the folder."
    )
    assert (tmp_path / "p").read_text() == "mine"
    assert files(tmp_path) == ["p"]


def test_text_writes_no_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert repr(build(CALLS)).startswith("//===")
    build(CALLS, "vitis_hls")
    assert files(tmp_path) == []


DEVICES = (
    "ultra96v2, pynqz2, zedboard, zcu102, zcu104, zcu106, zcu111, vck190, vhk158, u200, u250, u280"
)
MODES = "csim, csyn, cosim, sw_emu, hw_emu, hw"


@pytest.mark.parametrize(
    ("request_", "kind", "message"),
    [
        (
            {"project": "x.prj"},
            AssertionError,
            "mode must be specified when project is specified.\n"
            f"help: modes of vitis_hls: {MODES}.",
        ),
        (
            {"mode": "fast"},
            AssertionError,
            f"Invalid mode 'fast' for target vitis_hls.\nhelp: modes of vitis_hls: {MODES}.",
        ),
        (
            {"mode": "csim", "project": "x.prj", "configs": {"device": "u999"}},
            RuntimeError,
            f"Device u999 not supported. Available devices: {DEVICES}.",
        ),
        (
            {"mode": "csim", "configs": {"frequency": 0}},
            ValueError,
            "Option frequency of target vitis_hls takes a number of MHz from 0.001 to 10000, or None, "
            "not 0.\nhelp: It is the clock in MHz; None means 300, or 100 for pynq on a Zynq-7000 board.",
        ),
        (
            {"mode": "csim", "configs": {"hbm_mapping": {"A": 1.5}}},
            ValueError,
            "Option hbm_mapping of target vitis_hls takes a dict from names to an integer from 0 to "
            "4095, or a memory bank such as 'HBM[3]', or a list or tuple, each item an integer from 0 to "
            "4095, or a memory bank such as 'HBM[3]', or None, not {'A': 1.5}.\n"
            "help: 'A' is given 1.5. It places arguments in banks: "
            '{"A": 0, "output_0": "HBM[1]"}; rows in several: {"W": [2, 3]}.',
        ),
        (
            {"mode": "csim", "configs": {"colour": 1}},
            ValueError,
            "configs has no key 'colour' for target vitis_hls.\n"
            "help: known keys: check_bounds, check_dependences, device, fallback, frequency, hbm_mapping, "
            "mappings, mode, num_output_args, progress, subnormals, timeout.",
        ),
        (
            {"mode": "csim", "configs": {"num_output_args": 9}},
            RuntimeError,
            "num_output_args is 9, but the top function has 5 parameters.",
        ),
    ],
    ids=lambda v: next(iter(v), "") if isinstance(v, dict) else None,
)
def test_wrong_options(tmp_path, monkeypatch, request_, kind, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind) as caught:
        build(CALLS, "vitis_hls", **request_)
    assert isinstance(caught.value, BuildError)
    assert str(caught.value) == message
    assert files(tmp_path) == []


def test_top_named_kernel():
    text = module(function("kernel", "%a: memref<4xi32>", "return", ["i32"]))
    with pytest.raises(AssertionError) as caught:
        build(text, "vitis_hls", "kernel", mode="csim")
    assert str(caught.value) == (
        "The top function cannot be named kernel: the vitis_hls project uses this name itself.\n"
        "help: rename the Python function."
    )
    assert "void kernel(" in build(text, "vhls", "kernel").hls_code


def test_input_behind_an_output():
    body = """
    %v = affine.load %b[0] : memref<4xi32>
    affine.store %v, %a[1] : memref<4xi32>
    return"""
    text = module(function("top", "%a: memref<4xi32>,%b: memref<4xi32>", body, ["i32", "i32"]))
    with pytest.raises(RuntimeError) as caught:
        build(text, "vitis_hls")
    assert str(caught.value) == (
        "Output arguments must appear at the end: a is written, and b behind it is only read.\n"
        "help: move a behind b, or give configs={'num_output_args': …}."
    )
    a, b = np.arange(4, dtype=np.int32), np.arange(7, 11, dtype=np.int32)
    build(text, "vitis_hls", configs={"num_output_args": 2})(a, b)
    np.testing.assert_array_equal(a, [0, 7, 2, 3])


def test_untouched_array_behind_an_output_is_accepted():
    body = """
    %v = affine.load %b[0] : memref<4xi32>
    affine.store %v, %a[1] : memref<4xi32>
    return"""
    params = "%b: memref<4xi32>,%a: memref<4xi32>,%unused: memref<4xi32>"
    mod = build(module(function("top", params, body, ["i32"] * 3)), "vitis_hls")
    a, b = np.arange(4, dtype=np.int32), np.arange(7, 11, dtype=np.int32)
    mod(b, a, b)
    np.testing.assert_array_equal(a, [0, 7, 2, 3])


def test_only_the_top_has_c_linkage():
    """A kernel may be called as a function of the C library is."""
    inner = """
    %v = affine.load %a[0] : memref<4xi32>
    affine.store %v, %a[3] : memref<4xi32>
    return"""
    top = "call @index(%a) : (memref<4xi32>) -> ()\nreturn"
    parts = [
        function(n, "%a: memref<4xi32>", b, ["i32"]) for n, b in (("index", inner), ("top", top))
    ]
    a = np.arange(5, 9, dtype=np.int32)
    build(module(*parts), "vitis_hls")(a)
    np.testing.assert_array_equal(a, [5, 6, 7, 5])


NO_PORTS = module("func.func @top() { return }")


def test_a_top_without_ports_is_no_hardware():
    with pytest.raises(RuntimeError) as caught:
        build(NO_PORTS, mode="csyn")
    assert caught.value.message == (  # type: ignore[attr-defined]
        "The top function top has neither arguments nor results, "
        "so its hardware would have no ports."
    )
    assert "csim' need no ports" in caught.value.help  # type: ignore[attr-defined]


@pytest.mark.parametrize("target", ["vhls", "vitis_hls", "catapult", "tapa", "ihls", "pynq", "xls"])
def test_a_top_without_ports_is_text(target):
    code = str(build(NO_PORTS, target))
    assert "void top(" in code or "void top_body(" in code


def test_a_top_without_ports_prints_in_csim(capfd):
    def count():
        for i in range(3):
            print("i =", i)

    assert allo.customize(count).build(target="vitis_hls", mode="csim")() is None
    assert capfd.readouterr().out == "i = 0\ni = 1\ni = 2\n"


def test_functions_below_a_flat_top_take_flat_arrays():
    code = build(CALLS, "vitis_hls", wrap_io=False).hls_code
    assert "load_buf" not in code
    assert "int8_t v0 = A[(i) * 8 + (k)];" in code.split('extern "C"')[0]


def test_flat_top_without_wrapping():
    mod = build(GEMM, "vitis_hls", "gemm", wrap_io=False)
    assert "float v0 = A[(i) * 10 + (k)];" in mod.hls_code
    assert "load_buf" not in mod.hls_code
    rng = np.random.default_rng(3)
    a, b = rng.random((6, 10), np.float32), rng.random((10, 16), np.float32)
    np.testing.assert_array_equal(mod(a, b), build(GEMM, "llvm", "gemm")(a, b))


def test_wrong_arguments():
    mod = build(GEMM, "vitis_hls", "gemm", mode="csim")
    a, b = np.zeros((6, 10), np.float32), np.zeros((10, 16), np.float32)
    with pytest.raises(TypeError, match=re.escape("# of input arguments mismatch, got 1 but")):
        mod(a)
    with pytest.raises(TypeError, match=re.escape("Argument B of gemm, declared f32[10, 16]")):
        mod(a, a)
    with pytest.raises(
        TypeError, match="got 1 but expected 2 \\(or 3, with arrays for the results"
    ):
        mod(a)
    with pytest.raises(TypeError, match="csyn mode does not need to pass in arguments, got 2"):
        build(GEMM, "vitis_hls", "gemm", mode="csyn")(a, b)


def test_missing_compiler(monkeypatch):
    mod = build(GEMM, "vhls", "gemm")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ToolMissingError) as caught:
        mod(np.zeros((6, 10), np.float32), np.zeros((10, 16), np.float32))
    assert str(caught.value) == (
        "The C++ compiler no-such-compiler was not found; csim compiles the kernel with it.\n"
        "help: install it with: apt-get install g++ (or set CXX to a C++14 compiler)."
    )


def test_missing_headers(monkeypatch, tmp_path):
    mod = build(GEMM, "vhls", "gemm")
    monkeypatch.setenv("ALLO_HLS_HEADERS", str(tmp_path))
    with pytest.raises(ToolMissingError, match=re.escape(f"were not found in {tmp_path}")):
        mod(np.zeros((6, 10), np.float32), np.zeros((10, 16), np.float32))


def test_failing_compiler_shows_its_last_lines(monkeypatch, tmp_path):
    broken = tmp_path / "broken-g++"
    broken.write_text(
        '#!/bin/sh\nif [ "$1" = --version ]; then echo 1; exit; fi\necho sorry; exit 3\n'
    )
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(ToolFailedError) as caught:
        build(GEMM, "vhls", "gemm")(np.zeros((6, 10), np.float32), np.zeros((10, 16), np.float32))
    assert str(caught.value) == (
        "Compiling the runtime of csim by broken-g++ failed with status 3.\nnote: sorry"
    )
    shutil.rmtree(tmp_path / "cache")
