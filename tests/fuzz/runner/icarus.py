"""A program's hardware in Icarus Verilog: the test bench of its first call passes there."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ..generator.program import Program
from ..generator.values import inputs

LIMIT_S = 120.0
_PASS = re.compile(r"^PASS: (\d+) cycles, (\d+) words compared$", re.M)


def fault_in_icarus(program: Program, module: Any) -> str:
    """What Icarus finds wrong with the design in the first call; empty where it finds nothing.

    The test bench holds the words that the in-process engine computed, so ``module`` must have been
    compared with the reference before.
    """
    with tempfile.TemporaryDirectory(prefix="allo_icarus_") as made:
        folder = Path(made) / "bench"
        module.write_testbench(*inputs(program, 0), path=folder)
        return fault_of_bench(folder)


def fault_of_bench(folder: Path) -> str:
    """What the test bench in a folder says in Icarus, but for its passing."""
    try:
        done = subprocess.run(
            ["sh", "run.sh", "icarus"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"Icarus does not end within {LIMIT_S:g} s"
    said = done.stdout + done.stderr
    if done.returncode == 0 and _PASS.search(said):
        return ""
    return said[-800:] or f"Icarus ended with status {done.returncode} and said nothing"
