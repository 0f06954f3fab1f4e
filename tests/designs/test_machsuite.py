"""Every MachSuite kernel on every target: NumPy, CPU, HLS csim and RTL agree in every element."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import allo
from allo.customize import Schedule
from allo.designs.machsuite import aes
from allo.designs.machsuite.gemm import gemm_blocked
from allo.designs.machsuite.kernels import NAMES, load
from allo.designs.machsuite.stencil import stencil2d
from allo.dialects.reports.figures import LoopReport
from tests.designs.suites import check_cpu, check_csim, check_rtl

# NumPy's transforms and matrix products add in an order of their own; its exponentials round their own way.
AGAINST_NUMPY = {"fft_strided": 1e-14, "fft_transpose": 1e-14, "backprop": 1e-10}
# csim takes the C++ library's exponential of float64, whose last bit is its own.
AGAINST_CSIM = {"backprop": 1e-12}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", ["tiny", "full"])
def test_cpu_gives_numpys_results(name: str, size: str) -> None:
    check_cpu(load(name), size, AGAINST_NUMPY.get(name, 0))


@pytest.mark.parametrize("name", NAMES)
def test_rtl_gives_the_cpus_bits(name: str) -> None:
    check_rtl(load(name))


@pytest.mark.parametrize("name", NAMES)
def test_csim_gives_the_cpus_results(name: str, tmp_path: Path) -> None:
    check_csim(load(name), tmp_path / "project", tolerance=AGAINST_CSIM.get(name, 0))


def test_aes_encrypts_the_standards_example() -> None:
    """FIPS 197, appendix C.3."""
    key = np.arange(32, dtype=np.uint8)
    block = np.array([17 * i for i in range(16)], np.uint8)
    aes.schedule().build()(key, block)
    assert block.tobytes().hex() == "8ea2b7ca516745bfeafc49904b496089"


def test_an_unknown_kernel_is_named() -> None:
    with pytest.raises(KeyError, match="MachSuite has no kernel 'spmv'; there are aes, backprop"):
        load("spmv")


def loops_of(schedule: Schedule, function: str) -> list[LoopReport]:
    report = schedule.build(target="verilog").report
    return next(f for f in report.functions if f.name == function).loops


def test_the_advised_partition_helps() -> None:
    """Four reads and four writes of the state an iteration of mix_columns."""
    (before,) = loops_of(aes.schedule(), "mix_columns")
    assert before.limit.endswith("partition buf on dim 1 by 4")
    schedule = aes.schedule()
    schedule.partition("mix_columns:buf", allo.Partition.Cyclic, dim=1, factor=4)
    (after,) = loops_of(schedule, "mix_columns")
    assert (before.ii, after.ii) == (4, 1)


def test_no_partition_is_advised_that_would_not_help() -> None:
    """Every bank of the picture would be read by every element of the window, sooner or later."""
    (loop,) = loops_of(stencil2d.schedule(stencil2d.SIZES["tiny"]), "stencil2d")
    assert loop.ii == 5
    assert loop.limit.partition("; ")[0].endswith(
        "9 reads of orig (stencil2d.py:20:43) need 5 cycles of bank 0's 2 ports"
    )
    assert "partition" not in loop.limit


def test_a_blocked_product_takes_a_row_of_a_block_a_cycle() -> None:
    (loop,) = loops_of(gemm_blocked.schedule((16, 8)), "bbgemm")
    assert (loop.ii, loop.trips, loop.limit) == (1, 16 * 16 * 2, "")


def test_rounds_in_one_pipeline_in_process() -> None:
    """Its conditions made an arc model whose definitions came after their uses."""
    schedule = aes.schedule()
    schedule.pipeline(schedule.get_loops()["rounds"]["i"])
    hardware = schedule.build(target="verilog", simulator="jit")
    arrays = aes.inputs(np.random.default_rng(3), aes.SIZES["tiny"])
    expected = tuple(a.copy() for a in arrays)
    hardware(*arrays)
    schedule.build()(*expected)
    for found, wanted in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
