"""Every PolyBench kernel on every target: NumPy, CPU, HLS csim and RTL agree in every element."""

from __future__ import annotations

from pathlib import Path

import pytest

from allo.designs.polybench.kernels import NAMES, load
from tests.designs.suites import check_cpu, check_csim, check_rtl


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", ["tiny", "small"])
def test_cpu_gives_numpys_bits(name: str, size: str) -> None:
    check_cpu(load(name), size)


@pytest.mark.parametrize("name", NAMES)
def test_rtl_gives_the_cpus_bits(name: str) -> None:
    check_rtl(load(name))


@pytest.mark.parametrize("name", NAMES)
def test_csim_gives_the_cpus_bits(name: str, tmp_path: Path) -> None:
    check_csim(load(name), tmp_path / "project")


def test_an_unknown_kernel_is_named() -> None:
    with pytest.raises(KeyError, match="PolyBench has no kernel 'gem'; there are adi, atax"):
        load("gem")
