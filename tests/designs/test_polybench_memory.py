"""Designs of PolyBench from external memory: bits of the CPU, values of NumPy, bytes that are needed."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.sim import external_memory
from allo.designs.polybench.memory import NAMES, load
from benchmarks.rtl_memory import bound, channels_of
from tests.designs.suites import assert_close, assert_same_bits, call, copies

TOLERANCE = 1e-5
OVER_AXI = "bicg"
"""Its lanes are neither a part nor a multiple of a line of the bus."""


@pytest.mark.parametrize("name", NAMES)
def test_a_design_of_cached_tiles_equals_numpy(name: str) -> None:
    design = load(name)
    size = design.SIZES["mini"]
    schedule = design.schedule(size, design.SHAPES["mini"])
    channels = external_memory("hbm2", clock_mhz=300)
    placed = dict(zip(design.ARRAYS, channels, strict=False))
    interface = {"configs": {"interface": "m_axi"}} if name == OVER_AXI else {}
    hardware = schedule.build(target="verilog", simulator="jit", memory=placed, **interface)
    arrays = design.inputs(np.random.default_rng(5), size)
    expected = call(schedule.build(), copies(arrays))
    assert_close(expected, call(design.reference, copies(arrays)), TOLERANCE)
    assert_same_bits(call(hardware, arrays), expected)
    moved = hardware.traffic.channels
    assert len(moved) == len(design.ARRAYS) and all(channel.bytes for channel in moved.values())


def test_an_unknown_design_is_named() -> None:
    with pytest.raises(KeyError, match="There is no design of 'fft'; there are gesummv, mvt"):
        load("fft")


def test_the_bound_is_that_of_the_busiest_array() -> None:
    assert channels_of(load("mvt"), "many") == {"A": 4, "y1": 1, "y2": 1, "x1": 1, "x2": 1}
    assert bound("mvt", "one") == pytest.approx(640_000 / 14_400)
    assert bound("mvt", "many") == pytest.approx(160_000 / 14_400)
