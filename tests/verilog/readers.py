"""Programs that read Verilog, and what they say of a text."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from allo.backend.sim.engines.verilator.tools import find_verilator
from allo.backend.synth.tools import find_yosys, run

TIME_LIMIT = 300
HAS_ICARUS = shutil.which("iverilog") is not None
with_icarus = pytest.mark.skipif(not HAS_ICARUS, reason="scripts/icarus could not bring it")


def lint(text: str, top: str, folder: Path) -> list[str]:
    """The warnings and errors of ``verilator --lint-only -Wall`` for a design in the file of its top."""
    file = folder / f"{top}.sv"
    file.write_text(text)
    found = find_verilator()
    done = subprocess.run(
        [str(found.program), "--lint-only", "-Wall", "--top-module", top, file.name],
        cwd=folder,
        env={**os.environ, "VERILATOR_ROOT": str(found.root)},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    said = re.findall(r"^%(?:Warning|Error).*", done.stderr, re.M)
    return said or ([done.stderr] if done.returncode else [])


def icarus(text: str, top: str, folder: Path) -> str:
    """What Icarus Verilog says of a design."""
    file = folder / f"{top}.sv"
    file.write_text(text)
    done = subprocess.run(
        ["iverilog", "-g2012", "-t", "null", "-s", top, file.name],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    return done.stdout + done.stderr or "failed" * bool(done.returncode)


def yosys(text: str, top: str, folder: Path) -> str:
    """The top module that Yosys finds in a design; raises ToolFailedError where it cannot read it."""
    (folder / f"{top}.sv").write_text(text)
    script = f"read_verilog -sv {top}.sv; hierarchy -check -top {top}; proc; stat"
    said = run(find_yosys(), ["-p", script], folder, what="Yosys", timeout=TIME_LIMIT)
    found = re.findall(r"^Top module: +\\(\w+)$", said, re.M)
    return found[-1] if found else said[-500:]
