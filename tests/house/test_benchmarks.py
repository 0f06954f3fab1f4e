"""The benchmarks' own arithmetic, and (slow) that every limit they state holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.harness import Row, seconds
from benchmarks.llm_kernels import kernels

ROOT = Path(__file__).resolve().parents[2]


def test_a_limit_from_above_and_from_below() -> None:
    assert Row("t", 1.5, "s", "limit", 2, True).held is True
    assert Row("t", 2.5, "s", "limit", 2, True).held is False
    assert Row("u", 0.95, "", "limit", 0.9, False).held is True
    assert Row("u", 0.85, "", "limit", 0.9, False).held is False
    assert Row("t", 3, "s", "peer", 2).held is None
    assert Row("t", 3, "s", "peer", 2).ratio == 1.5


@pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")
def test_the_kernels_of_the_transformer_have_the_sizes_that_they_take() -> None:
    assert len([kernel.make() for kernel in kernels(16)]) == 8


def test_the_first_call_is_not_timed() -> None:
    calls: list[int] = []
    assert seconds(lambda: calls.append(1), repeats=4) >= 0
    assert len(calls) == 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compile_time", "cpu_gemm", "rtl_gemm", "row_engine_64"])
def test_every_limit_holds(name: str, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [sys.executable, f"benchmarks/{name}.py", "--json", str(figures)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    rows = json.loads(figures.read_text())["rows"]
    assert rows
    assert all(row["held"] is not False for row in rows)
