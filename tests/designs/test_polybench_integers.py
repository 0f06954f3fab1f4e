"""PolyBench's kernels of sums and products take integers too: templates by element type."""

from __future__ import annotations

import numpy as np
import pytest

from allo.designs.polybench.kernels import load
from allo.ir.types import int32

NAMES = (
    "atax",
    "bicg",
    "doitgen",
    "gemver",
    "gesummv",
    "mvt",
    "symm",
    "syr2k",
    "syrk",
    "three_mm",
    "trmm",
)


@pytest.mark.parametrize("name", NAMES)
def test_integers_are_the_same_on_cpu_hls_and_rtl(name: str) -> None:
    kernel = load(name)
    size = kernel.SIZES["tiny"]
    schedule = kernel.schedule(size, int32)
    rng = np.random.default_rng(3)
    shapes = [a.shape for a in kernel.inputs(rng, size)]
    arrays = [rng.integers(-1000, 1000, shape).astype(np.int32) for shape in shapes]
    expected = [a.copy() for a in arrays]
    schedule.build()(*expected)
    assert any((a != b).any() for a, b in zip(arrays, expected, strict=True))
    hardware = schedule.build(target="verilog", simulator="jit")
    for build in (hardware, schedule.build(target="vhls")):
        got = [a.copy() for a in arrays]
        build(*got)
        for position, (a, b) in enumerate(zip(got, expected, strict=True)):
            np.testing.assert_array_equal(a, b, err_msg=f"argument {position}")
    assert hardware.cycles == hardware.report.cycles
