"""The drivers of vendor tools, against a fake tool on PATH, and Allo's own Verilog without one."""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from allo.backend.hls import is_available
from allo.dialects.reports.figures import DesignReport
from allo.errors import ToolFailedError, ToolMissingError
from allo.target import find_target, register_target

from .harness import build

DATA = Path(__file__).parent.parent / "data"
GEMM = (DATA / "gemm_f32.mlir").read_text()
REPORT = (Path(__file__).parent / "gemm_csynth.xml").read_text()


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Put a fake tool on PATH; its body is Python that sees the project as the current folder."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def install(body: str, name: str = "vitis_hls") -> None:
        path = folder / name
        path.write_text(f"#!{sys.executable}\nimport os, sys, time, pathlib\n{body}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return install


SUCCESS = f"""
assert sys.argv[1:] == ["-f", "run.tcl"], sys.argv
text = pathlib.Path("run.tcl").read_text()
assert "set_top gemm" in text and "csynth_design" in text
folder = pathlib.Path("out.prj/solution1/syn/report")
folder.mkdir(parents=True)
(folder / "gemm_csynth.xml").write_text('''{REPORT}''')
print("INFO: [HLS 200-111] Finished C synthesis.")
"""


def test_csyn_by_the_tool_gives_a_report(tool, tmp_path):
    tool(SUCCESS)
    seen: list[str] = []
    mod = build(
        GEMM,
        "vitis_hls",
        "gemm",
        mode="csyn",
        project=str(tmp_path / "p"),
        configs={"progress": seen.append},
    )
    report = mod()
    assert is_available("vitis_hls", tool=True)
    assert seen == ["INFO: [HLS 200-111] Finished C synthesis."]
    assert (tmp_path / "p" / "vitis_hls.run.log").read_text() == seen[0] + "\n"
    assert mod.report is report
    assert (report.tool, report.top, report.cycles) == ("vitis_hls 2023.2", "gemm", 1431)
    assert report.clock_mhz == pytest.approx(300.3, abs=0.1)
    assert report.resources == {"bram": 4, "dsp": 40, "ff": 6210, "lut": 5477, "uram": 0}
    (outer,) = report.functions[0].loops
    assert (outer.name, outer.trips, outer.cycles, outer.pipelined) == (
        "l_S_i_j_k_0_i",
        6,
        1368,
        False,
    )
    names = [(loop.name, loop.ii, loop.depth, loop.trips) for loop in outer.children]
    assert names == [
        ("l_j_init", 1, 1, 2),
        ("l_k_l_j_outer", 8, 12, 20),
        ("l_j_back", 1, 3, 2),
    ]
    assert [f.name for f in report.functions] == ["gemm", "load_buf0"]


def test_csyn_without_a_project_runs_in_a_scratch_folder(tool):
    tool(SUCCESS)
    assert build(GEMM, "vitis_hls", "gemm", mode="csyn")().cycles == 1431


def test_failing_tool_shows_its_last_lines(tool, tmp_path):
    tool("for k in range(100): print('line', k)\nprint('ERROR: [HLS 207-1]'); sys.exit(7)")
    with pytest.raises(ToolFailedError) as caught:
        build(GEMM, "vitis_hls", "gemm", mode="csyn", project=str(tmp_path / "p"))()
    log = tmp_path / "p" / "vitis_hls.run.log"
    notes = [f"note: line {k}" for k in range(81, 100)] + ["note: ERROR: [HLS 207-1]"]
    assert str(caught.value).splitlines() == [
        f"C synthesis by vitis_hls failed with status 7. The whole log is {log}.",
        *notes,
    ]
    assert log.read_text().splitlines()[0] == "line 0"


def test_slow_tool_is_ended(tool, tmp_path):
    tool("print('started', flush=True)\ntime.sleep(60)")
    with pytest.raises(ToolFailedError) as caught:
        configs = {"timeout": 0.5}
        build(
            GEMM, "vitis_hls", "gemm", mode="csyn", project=str(tmp_path / "p"), configs=configs
        )()
    assert str(caught.value) == (
        "C synthesis by vitis_hls ran past its time limit of 0.5 s.\nnote: started\n"
        "help: raise the limit with configs={'timeout': seconds}."
    )


def test_tool_without_a_report(tool, tmp_path):
    tool("print('done')")
    with pytest.raises(ToolFailedError) as caught:
        build(GEMM, "vitis_hls", "gemm", mode="csyn", project=str(tmp_path / "p"))()
    assert caught.value.message == f"The tool left no csynth.xml report in {tmp_path / 'p'}."


def test_unreadable_report(tool, tmp_path):
    body = SUCCESS.replace("<profile>", "<profile").replace("text = ", "text = ")
    tool(body)
    with pytest.raises(ToolFailedError, match=r"The report .*gemm_csynth\.xml cannot be read: "):
        build(GEMM, "vitis_hls", "gemm", mode="csyn", project=str(tmp_path / "p"))()


COSIM = """
import struct
a = pathlib.Path("input0.data").read_bytes()
b = pathlib.Path("input1.data").read_bytes()
A, B = struct.unpack("60f", a), struct.unpack("160f", b)
C = [sum(A[i * 10 + k] * B[k * 16 + j] for k in range(10)) for i in range(6) for j in range(16)]
pathlib.Path("output0.data").write_bytes(struct.pack("96f", *C))
folder = pathlib.Path("out.prj/solution1/sim/report")
folder.mkdir(parents=True)
(folder / "gemm_cosim.rpt").write_text('''
|   RTL    |  Status  |          Latency(Clock Cycles)       |
|   VHDL   |        NA|     NA|     NA|     NA|
|   Verilog|      Pass|   1440|   1441|   1442|
''')
"""


def test_cosim_by_the_tool_runs_on_arrays(tool, tmp_path):
    tool(SUCCESS.replace("csynth_design", "cosim_design") + COSIM)
    mod = build(GEMM, "vitis_hls", "gemm", mode="cosim", project=str(tmp_path / "p"))
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-8, 8, s).astype(np.float32) for s in ((6, 10), (10, 16)))
    np.testing.assert_array_equal(mod(a, b), a @ b)
    out = np.zeros((6, 16), np.float32)
    (tmp_path / "p" / "out.prj").rename(tmp_path / "p" / "old.prj")
    assert mod(a, b, out) is None
    np.testing.assert_array_equal(out, a @ b)
    assert mod.report.measured_cycles == 1442


def test_cosim_results_of_the_wrong_size(tool, tmp_path):
    tool(SUCCESS + COSIM + "pathlib.Path('output0.data').write_bytes(b'123')")
    mod = build(GEMM, "vitis_hls", "gemm", mode="cosim", project=str(tmp_path / "p"))
    with pytest.raises(ToolFailedError, match=r"output0\.data holds 3 bytes instead of 384"):
        mod(np.zeros((6, 10), np.float32), np.zeros((10, 16), np.float32))


def test_emulation_needs_vpp(tmp_path, monkeypatch):
    a, b, c = (np.zeros(s, np.float32) for s in ((6, 10), (10, 16), (6, 16)))
    configs = {"fallback": False}
    mod = build(
        GEMM, "vitis_hls", "gemm", mode="hw_emu", project=str(tmp_path / "p"), configs=configs
    )
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolMissingError) as caught:
        mod(a, b, c)
    assert caught.value.message == "v++ is not available; mode hw_emu needs it."


def test_emulation_runs_make(tool, tmp_path, monkeypatch):
    tool("pass", "v++")
    body = "assert sys.argv[1:] == ['run', 'TARGET=sw_emu', 'PLATFORM=plat.xpfm'], sys.argv"
    tool(body + COSIM.replace("output0.data", "output.data"), "make")
    mod = build(GEMM, "vitis_hls", "gemm", mode="sw_emu", project=str(tmp_path / "p"))
    a, b, c = (np.ones(s, np.float32) for s in ((6, 10), (10, 16), (6, 16)))
    with pytest.raises(ToolMissingError, match="XDEVICE is not set; mode sw_emu needs a platform"):
        mod(a, b, c)
    monkeypatch.setenv("XDEVICE", "plat.xpfm")
    with pytest.raises(TypeError, match="Number of arguments mismatch, got 2 but expected 3"):
        mod(a, b)
    mod(a, b, c)
    np.testing.assert_array_equal(c, np.full((6, 16), 10, np.float32))


# --- Allo's own Verilog in place of the tool -------------------------------------------


class FakeRtl:
    """Stands for the Verilog module: runs the CPU build and reports cycles."""

    def __init__(self, request):
        assert request.target == "verilog"
        self.run = find_target("llvm")(dataclasses.replace(request, target="llvm", configs=None))
        self.report = DesignReport("fake rtl", "verilog", request.top, 300.0, 123)

    def __call__(self, *args):
        self.report.measured_cycles = 125
        return self.run(*args)


@pytest.fixture
def no_tool(monkeypatch):
    monkeypatch.setattr("allo.backend.hls.vendors.steps.find_tool", lambda backend: None)


@pytest.fixture
def fake_rtl():
    from allo import target

    original = target._REGISTERED["verilog"]
    register_target("verilog", FakeRtl, replace=True)
    yield
    register_target("verilog", original, replace=True)


def test_csyn_without_the_tool_uses_own_verilog(no_tool, fake_rtl, caplog):
    mod = build(GEMM, "vitis_hls", "gemm", mode="csyn")
    with caplog.at_level(logging.WARNING):
        report = mod()
    assert (report.tool, report.cycles) == ("fake rtl", 123)
    assert [r.getMessage() for r in caplog.records] == [
        "vitis_hls is not on PATH: csyn of gemm runs on Allo's own Verilog instead "
        "(fallback=False forbids it)."
    ]


def test_cosim_without_the_tool_uses_own_verilog(no_tool, fake_rtl):
    mod = build(GEMM, "vivado_hls", "gemm", mode="cosim")
    rng = np.random.default_rng(0)
    a, b = rng.random((6, 10), np.float32), rng.random((10, 16), np.float32)
    expected = build(GEMM, "llvm", "gemm")(a, b)
    np.testing.assert_array_equal(mod(a, b), expected)
    out = np.zeros((6, 16), np.float32)
    assert mod(a, b, out) is None
    np.testing.assert_array_equal(out, expected)
    assert mod.report.measured_cycles == 125


@pytest.mark.parametrize("where", ["configs", "options"])
def test_fallback_can_be_forbidden(no_tool, where):
    mod = build(GEMM, "vitis_hls", "gemm", mode="csyn", **{where: {"fallback": False}})
    with pytest.raises(ToolMissingError) as caught:
        mod()
    assert str(caught.value) == (
        "vitis_hls is not available; csyn needs it.\n"
        "help: install Vitis (https://www.xilinx.com/support/download.html) and source its "
        "settings64.sh, or leave out fallback=False to use Allo's own Verilog."
    )


def test_implementation_has_no_replacement(no_tool):
    with pytest.raises(ToolMissingError) as caught:
        build(GEMM, "vivado_hls", "gemm", mode="impl")()
    assert caught.value.message == "vivado_hls is not available; mode impl needs it."


def test_own_verilog_by_the_verilog_compiler(no_tool):
    """No fake: Allo's Verilog, simulated."""
    mod = build(GEMM, "vitis_hls", "gemm", mode="cosim")
    rng = np.random.default_rng(0)
    a, b = rng.random((6, 10), np.float32), rng.random((10, 16), np.float32)
    np.testing.assert_array_equal(mod(a, b), build(GEMM, "llvm", "gemm")(a, b))
    assert mod.report.measured_cycles == mod.report.cycles
    assert build(GEMM, "vitis_hls", "gemm", mode="csyn")().cycles == mod.report.cycles
