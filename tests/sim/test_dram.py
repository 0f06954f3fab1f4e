"""The model of dynamic memory: its command traces follow the rules, its figures the measurements."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allo.backend.sim.dram.channel import DramChannel
from allo.backend.sim.dram.devices import DDR4_2400, DEVICES, HBM2, TIMINGS
from benchmarks.memory_model import figures

from .dram_rules import broken_rules, distances

FASTER = {
    "rcd": "tRCD", "ras": "tRAS", "rp": "tRP", "rrd_s": "tRRD_S", "rrd_l": "tRRD_L", "ccd_l_ck": "tCCD_L",
    "wtr_s": "tWTR_S", "wtr_l": "tWTR_L", "rtp": "tRTP", "wr": "tWR", "faw": "tFAW", "rfc": "tRFC",
    "cl_ck": "tRTW",
}  # fmt: skip


def mixed(device, seed, count=3000):
    """A channel after requests of many kinds: runs, strides, random ones, a third of them writes."""
    rng = np.random.default_rng(seed)
    parts = []
    while sum(map(len, parts)) < count:
        start, stride = rng.integers(0, 1 << 26), rng.choice([1, 1, 7, 256, 4096])
        parts.append(start + stride * np.arange(rng.integers(1, 40)))
    at = np.concatenate(parts)[:count] % (1 << 24) * device.burst_bytes
    times = np.cumsum(rng.choice([0, 0, 0, 1, 400], count, p=[0.4, 0.2, 0.2, 0.19, 0.01]))
    channel = DramChannel(device, traced=True)
    ends = channel.replay(at, times, rng.random(count) < 0.35, int(rng.choice([4, 32, 100])))
    return channel, times, ends


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", DEVICES)
def test_random_traces_keep_every_rule(kind, seed):
    device = DEVICES[kind]
    channel, times, ends = mixed(device, seed)
    assert broken_rules(channel.commands(), device) == set()
    assert (ends > times).all()
    counts = channel.counts()
    assert counts.bursts == 3000 == counts.hits + counts.misses + counts.conflicts
    assert counts.turnarounds > 10
    assert counts.refreshes >= int(ends.max()) // device.cycles(device.refi) - 9


@pytest.mark.parametrize("field", FASTER)
def test_the_checker_finds_a_model_that_is_too_fast(field):
    # The model runs with one time cut; the checker holds the device to its own.
    device = dataclasses.replace(DDR4_2400, faw=50.0, rrd_l=6.6)
    value = getattr(device, field)
    cut = {"ccd_l_ck": 4, "cl_ck": 14}.get(field, value / 4)
    channel, _, _ = mixed(dataclasses.replace(device, **{field: cut}), 3)
    assert FASTER[field] in broken_rules(channel.commands(), device)


def test_the_checker_finds_a_missing_refresh_and_a_wrong_row():
    channel, _, _ = mixed(dataclasses.replace(HBM2, refi=1e9), 1, 6000)
    commands = channel.commands()
    assert "tREFI" in broken_rules(commands, dataclasses.replace(HBM2, refi=500))
    opened = next(k for k, c in enumerate(commands) if c.name == "ACT")
    assert "wrong row" in broken_rules(commands[:opened] + commands[opened + 1 :], HBM2)
    assert len({rule[0] for rule in distances(HBM2)}) == 14


def test_the_same_requests_take_the_same_time():
    assert (mixed(HBM2, 5)[2] == mixed(HBM2, 5)[2]).all()


def test_figures_are_within_the_limits_of_published_measurements():
    measured = figures(20_000)
    held = [each for each in measured if each.limit]
    assert len(held) >= 11
    assert [each for each in held if abs(each.deviation) > each.limit] == []


def test_a_row_hit_overtakes_a_conflict():
    row = 1 << 14  # of HBM2: the next row of the same bank
    channel = DramChannel(HBM2)
    first, conflict, hit = channel.replay([0, row, 64], np.array([0, 5, 5], np.uint64))
    assert first < hit < conflict


# Cycles in DRAMsim3's HBM2_8Gb_x128.ini (1 ns) and DDR4_8Gb_x8_2400.ini (0.833 ns; its tREFI is 9364).
SOURCES = {
    "hbm2": (1000, {
        "rcd": 14, "rp": 14, "ras": 34, "wr": 16, "rrd_s": 4, "rrd_l": 6, "wtr_s": 6, "wtr_l": 8,
        "faw": 30, "rfc": 260, "refi": 3900, "cl_ck": 14, "cwl_ck": 4}),
    "ddr4_2400": (1200, {
        "rcd": 16, "rp": 16, "ras": 39, "rrd_s": 4, "rrd_l": 6, "wtr_s": 3, "wtr_l": 9, "faw": 26,
        "rfc": 420, "refi": 9360, "cl_ck": 16, "cwl_ck": 16, "ccd_s_ck": 4, "ccd_l_ck": 6}),
}  # fmt: skip


@pytest.mark.parametrize("kind", SOURCES)
def test_what_is_not_marked_unchecked_is_what_the_source_says(kind):
    clock, cycles = SOURCES[kind]
    device = dataclasses.replace(DEVICES[kind], mhz=clock)
    found = {
        name: getattr(device, name)
        if name.endswith("_ck")
        else device.cycles(getattr(device, name))
        for name in cycles
    }
    # At 900 MHz, 14 ns are 13 cycles.
    assert found | ({"cl_ck": 14} if kind == "hbm2" else {}) == cycles
    assert set(TIMINGS) - set(device.unchecked) == cycles.keys()
