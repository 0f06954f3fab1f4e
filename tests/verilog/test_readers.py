"""Other readers than Verilator take the Verilog of every design: Icarus Verilog and Yosys."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from allo.backend.rtl.export.modules import split_modules
from allo.errors import ToolFailedError
from tests.verilog.designs import DESIGNS, SMALL
from tests.verilog.readers import icarus, lint, with_icarus, yosys

SAMPLE = ("gallery-fft", "gallery-merge_streams", "network-1", "polybench-floyd_warshall")


def design_of(name: str):  # type: ignore[no-untyped-def]
    return DESIGNS[name]().build(target="verilog", simulator="jit").design


@with_icarus
@pytest.mark.parametrize("name", SMALL)
def test_icarus_reads_a_design(name: str, tmp_path: Path) -> None:
    design = design_of(name)
    assert icarus(design.verilog, design.top, tmp_path) == ""


@with_icarus
def test_icarus_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    text = "module m;\n  reg [7:0] t[0:1];\n  initial t = '{8'h1, 8'h2};\nendmodule\n"
    assert "Cannot assign to array t" in icarus(text, "m", tmp_path)


@pytest.mark.parametrize("name", SAMPLE)
def test_yosys_reads_a_design(name: str, tmp_path: Path) -> None:
    design = design_of(name)
    assert yosys(design.verilog, design.top, tmp_path) == design.top


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DESIGNS if name not in SAMPLE])
def test_yosys_reads_every_design(name: str, tmp_path: Path) -> None:
    design = design_of(name)
    assert yosys(design.verilog, design.top, tmp_path) == design.top


def test_yosys_refuses_an_unknown_module(tmp_path: Path) -> None:
    with pytest.raises(ToolFailedError, match="nowhere"):
        yosys("module m(input a);\n  nowhere n_0 (.a (a));\nendmodule\n", "m", tmp_path)


def test_a_file_for_each_module(tmp_path: Path) -> None:
    """Each file is named after its module; together they are the design, without a warning."""
    module = DESIGNS["gallery-merge_streams"]().build(target="verilog", simulator="jit")
    whole = split_modules(module.verilog)
    folder = module.write_project(tmp_path / "split", split=True)
    names = (folder / "files.f").read_text().split()
    assert names == [f"{m.name}.sv" for m in whole]
    assert len(names) > 3
    for name, part in zip(names, whole, strict=True):
        text = (folder / name).read_text()
        assert text.endswith(f"\n\n{part.text}\n")
        assert re.findall(r"^module (\w+)", text, re.M) == [name.removesuffix(".sv")]
    done = subprocess.run(["sh", "run.sh"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert "\nmerge_streams.sv: Verilator reads it without a warning.\n" in done.stdout
    joined = "\n".join((folder / name).read_text() for name in names)
    assert any("DECLFILENAME" in said for said in lint(joined, "merge_streams", tmp_path))
    assert json.loads((folder / "allo_project.json").read_text())["top"] == "merge_streams"
