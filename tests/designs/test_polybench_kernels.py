"""Every PolyBench kernel on every target: NumPy, CPU, HLS csim and RTL agree in every element."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from allo.designs.polybench.kernels import NAMES, load

SEED = 11


def copies(arrays: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return tuple(a.copy() for a in arrays)


def assert_same_bits(found: tuple[np.ndarray, ...], expected: tuple[np.ndarray, ...]) -> None:
    for position, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert np.isfinite(b).all(), f"argument {position}: the inputs are ill conditioned"
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(
            a.view(np.uint8), b.view(np.uint8), err_msg=f"argument {position}"
        )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", ["tiny", "small"])
def test_cpu_gives_numpys_bits(name: str, size: str) -> None:
    kernel = load(name)
    shape = kernel.SIZES[size]
    build = kernel.schedule(shape).build()
    arrays = kernel.inputs(np.random.default_rng(SEED), shape)
    expected = copies(arrays)
    kernel.reference(*expected)
    build(*arrays)
    assert_same_bits(arrays, expected)


@pytest.mark.parametrize("name", NAMES)
def test_rtl_gives_the_cpus_bits(name: str) -> None:
    kernel = load(name)
    shape = kernel.SIZES["tiny"]
    schedule = kernel.schedule(shape)
    build, hardware = schedule.build(), schedule.build(target="verilog", simulator="jit")
    rng = np.random.default_rng(SEED)
    for _ in range(3):
        arrays = kernel.inputs(rng, shape)
        expected = copies(arrays)
        build(*expected)
        hardware(*arrays)
        assert_same_bits(arrays, expected)
        assert hardware.report.cycles in (None, hardware.cycles)


@pytest.mark.parametrize("name", NAMES)
def test_csim_gives_the_cpus_bits(name: str, tmp_path: Path) -> None:
    kernel = load(name)
    shape = kernel.SIZES["tiny"]
    schedule = kernel.schedule(shape)
    build = schedule.build()
    csim = schedule.build(target="vitis_hls", mode="csim", project=str(tmp_path / "project"))
    arrays = kernel.inputs(np.random.default_rng(SEED), shape)
    expected = copies(arrays)
    build(*expected)
    csim(*arrays)
    assert_same_bits(arrays, expected)


def test_an_unknown_kernel_is_named() -> None:
    with pytest.raises(KeyError, match="PolyBench has no kernel 'gem'; there are adi, atax"):
        load("gem")
