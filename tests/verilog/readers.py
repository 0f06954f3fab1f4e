"""Programs that read Verilog, and what they say of a text."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from allo.backend.sim.engines.verilator.tools import find_verilator

TIME_LIMIT = 300


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
