"""``allo autoschedule``: the script on the output, the account on the error stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from allo.cli import main

KERNEL = """import allo
from allo.ir.types import int32


def twice(A: int32[16, 16], B: int32[16, 16]):
    for i, j in allo.grid(16, 16):
        B[i, j] = A[i, j] * A[i, j]
"""


def test_the_command_prints_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "autoscheduled_twice.py"
    path.write_text(KERNEL)
    asked = ["autoschedule", f"{path}:twice", "--max-dsp", "12", "--seconds", "15"]
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert "def schedule():" in out and "s.pipeline(" in out
    assert "within 12 DSP" in err and "gap" in err
    script = tmp_path / "made.py"
    assert main([*asked, "-o", str(script)]) == 0
    assert script.read_text() == out


def test_a_limit_too_small_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "autoscheduled_small.py"
    path.write_text(KERNEL)
    assert main(["autoschedule", f"{path}:twice", "--max-dsp", "0"]) == 1
    assert "AutoscheduleError: One unit for muli of i32" in capsys.readouterr().err
