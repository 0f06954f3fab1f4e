"""Every design of the gallery: reference, CPU, hardware and csim agree, with the figures of its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from allo.designs.gallery.catalogue import ENTRIES, Entry, find
from scripts.pages.figures.store import Figures
from scripts.pages.gallery import FAMILY
from scripts.pages.measure import SEED, figures_of
from tests.designs.suites import Arrays, call, copies
from tests.figures_plugin import Held

FIGURES_KEPT = Figures().families[FAMILY]
CSIM_EVERY_TIME = ("fir", "cordic")
"""g++ takes seconds a design; the slow tests compile them all."""


def name_of(entry: Entry) -> str:
    return entry.name


def assert_equal(found: Arrays, expected: Arrays, tolerance: float = 0) -> None:
    for position, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert a.shape == b.shape
        if tolerance:
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance, err_msg=f"array {position}")
        else:
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b, err_msg=f"array {position}")


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_design(entry: Entry, figures: Held) -> None:
    """The CPU build computes what the reference does, the hardware what the CPU build does."""
    module = entry.load()
    schedule = module.schedule()
    build, hardware = schedule.build(), schedule.build(target="verilog", simulator="jit")
    for seed in (SEED, 1, 2):
        arrays = module.inputs(np.random.default_rng(seed))
        expected = call(module.reference, copies(arrays))
        on_cpu = call(build, copies(arrays))
        assert_equal(on_cpu, expected, getattr(module, "TOLERANCE", 0))
        assert_equal(call(hardware, arrays), on_cpu)
        if seed == SEED:
            check_figures(entry, figures_of(hardware.report), figures)


def check_figures(entry: Entry, found: dict[str, Any], figures: Held) -> None:
    """No more cycles than recorded, and as predicted; in as many, each loop is as its page says."""
    cycles, kept = found["measured_cycles"], FIGURES_KEPT[entry.name]
    figures.hold(f"gallery.{entry.name}.measured_cycles", cycles, report=found["predicted_cycles"])
    if cycles == kept["measured_cycles"]:
        assert found == kept, (
            f"The page of {entry.name} is out of date: run scripts/gallery {entry.name}."
        )


def check_csim(entry: Entry, project: Path) -> None:
    module = entry.load()
    schedule = module.schedule()
    csim = schedule.build(target="vitis_hls", mode="csim", project=str(project))
    arrays = module.inputs(np.random.default_rng(SEED))
    expected = call(schedule.build(), copies(arrays))
    assert_equal(call(csim, arrays), expected)


@pytest.mark.parametrize("name", CSIM_EVERY_TIME)
def test_csim(name: str, tmp_path: Path) -> None:
    check_csim(find(name), tmp_path / "project")


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_csim_of_all(entry: Entry, tmp_path: Path) -> None:
    check_csim(entry, tmp_path / "project")


def test_a_design_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match=r"The gallery has no design 'fri'; there are fir, biquad"):
        find("fri")
