"""Designs of PolyBench from external memory: bits of the CPU, values of NumPy, bytes that are needed."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.sim import external_memory
from allo.backend.sim.dram.channel import DramChannel
from allo.backend.sim.dram.devices import HBM2
from allo.designs.polybench.memory import NAMES, load
from benchmarks.rtl_memory import ACHIEVABLE, CHANNELS, VECTORS, bound, channels_of, spelled
from tests.designs.suites import assert_close, assert_same_bits, call, copies

TOLERANCE = 1e-5
SPREAD = "bicg"
"""Its lanes are neither a part nor a multiple of a line of the bus, and its matrix has two masters."""


@pytest.mark.parametrize("name", NAMES)
def test_a_design_equals_numpy_over_axi(name: str) -> None:
    design = load(name)
    size = design.SIZES["mini"]
    schedule = design.schedule(size, design.SHAPES["mini"])
    bundles = {array: [array] for array in design.ARRAYS}
    if name == SPREAD:
        bundles["A"] = ["A", "B"]
    masters = {array: {"kind": "m_axi", "bundle": some} for array, some in bundles.items()}
    channels = external_memory("hbm2", clock_mhz=300, timing="dram")
    placed = dict(zip(design.ARRAYS, channels, strict=False))
    hardware = schedule.build(
        target="verilog", simulator="jit", memory=placed, configs={"interface": masters}
    )
    arrays = design.inputs(np.random.default_rng(5), size)
    expected = call(schedule.build(), copies(arrays))
    assert_close(expected, call(design.reference, copies(arrays)), TOLERANCE)
    assert_same_bits(call(hardware, arrays), expected)
    if name in VECTORS:
        assert all(array.beside for array in hardware.design.board.arrays)
    moved = hardware.traffic.channels
    assert all(moved[channel.name].bytes for channel in placed.values())


def test_an_unknown_design_is_named() -> None:
    with pytest.raises(KeyError, match="There is no design of 'fft'; there are gesummv, mvt"):
        load("fft")


def test_the_bound_is_that_of_the_busiest_array() -> None:
    found = {name: spelled(some) for name, some in channels_of(load("mvt"), "many").items()}
    vectors = {name: f"hbm[{n}]" for n, name in enumerate(("y1", "y2", "x1", "x2"), 4)}
    assert found == {"A": "hbm[0:4]", **vectors}
    assert bound("mvt", "one") == pytest.approx(640_000 / 14_400)
    assert bound("mvt", "many") == pytest.approx(160_000 / 14_400)


def test_a_card_has_the_channels_of_every_design() -> None:
    for name in NAMES:
        for which, most in CHANNELS.items():
            places = channels_of(load(name), which)
            taken = [n for channels in places.values() for n in channels]
            assert sorted(set(taken)) == sorted(taken) and max(taken) < 32
            assert max(map(len, places.values())) == most


def test_a_channel_achieves_what_shares_are_of() -> None:
    channel = DramChannel(HBM2)
    bursts = 20_000
    ends = channel.replay(np.arange(bursts) * HBM2.burst_bytes)
    assert bursts * HBM2.burst_bytes / (ends[-1] * 1e3 / HBM2.mhz) == pytest.approx(
        ACHIEVABLE, abs=0.05
    )
