"""The benchmark of PolyBench against C: results are compared, and every figure is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from allo.designs.polybench.kernels import NAMES, load, plain, size_names
from benchmarks import cpu_polybench

KERNELS = ("trisolv", "nussinov")


def test_a_short_run_writes_every_figure(tmp_path: Path) -> None:
    target = tmp_path / "figures.json"
    options = ["--only", *KERNELS, "--size", "mini", "--runs", "1", "--json", str(target)]
    assert cpu_polybench.main(options) in (0, 1)
    figures = json.loads(target.read_text())
    assert figures["benchmark"] == "cpu_polybench"
    rows = figures["rows"]
    for peer in (cpu_polybench.NATIVE, cpu_polybench.PORTABLE):
        own = [row for row in rows if row["against"] == peer]
        assert [row["what"] for row in own] == list(KERNELS)
        assert all(row["value"] > 0 and row["reference"] > 0 for row in own)
    limits = [row for row in rows if row["against"] == "limit"]
    assert [row["reference"] for row in limits] == [1.1, 1.5] * 2
    assert all(row["held"] is not None for row in limits[:2])
    native = [row["ratio"] for row in rows if row["against"] == cpu_polybench.NATIVE]
    assert limits[0]["value"] == pytest.approx((native[0] * native[1]) ** 0.5)
    assert limits[1]["value"] == max(native)


def test_every_kernel_has_its_loops_in_c() -> None:
    sources = sorted(path.stem for path in cpu_polybench.SOURCES.glob("*/*.c"))
    assert sources == sorted(NAMES)
    assert len(NAMES) == 30


def test_a_difference_is_an_error() -> None:
    found, expected = np.zeros(8, np.float32), np.zeros(8, np.float32)
    cpu_polybench.compare("lu", (found,), (expected,))
    expected[5] = 1
    message = "^lu: argument 0 differs from C in 1 of 8 elements.$"
    with pytest.raises(cpu_polybench.DifferenceError, match=message):
        cpu_polybench.compare("lu", (found,), (expected,))


def test_a_plain_kernel_has_no_schedule() -> None:
    size = load("gemm").SIZES["tiny"]
    text = str(plain("gemm", size).module)
    assert "pipeline_ii" not in text
    assert "memref<4x6xf32>" in text
    assert size_names("gemm", size) == ("P", "Q", "R")
    assert size_names("nussinov", (8,)) == ("N",)
