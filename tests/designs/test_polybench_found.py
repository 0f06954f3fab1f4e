"""Kernels on a budget of DSPs that the search schedules: those with schedules by hand, within the budget."""

from __future__ import annotations

import time

import numpy as np
import pytest

from allo.backend.devices import DEFAULT_DEVICE
from allo.designs.polybench.budgets import CLOCK_MHZ, NAMES, found, load, plain
from tests.designs.by_hand import load as load_by_hand

PAIRS = 6


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_is_that_of_the_schedule_by_hand(name: str) -> None:
    ours = plain(name, "tiny")
    by_hand = load_by_hand(name).schedule(load(name).SIZES["tiny"], PAIRS)
    assert ours.kernel.source is by_hand.kernel.source
    assert list(ours.inst_list) == list(by_hand.inst_list)


def test_a_schedule_is_found_within_the_budget() -> None:
    s = found("bicg", 24, "mini", seconds=8.0, cache=False, timer=time.process_time)
    by_hand = load_by_hand("bicg").schedule(load("bicg").SIZES["mini"], 12)
    report = by_hand.estimate(
        clock_mhz=CLOCK_MHZ, subnormals="flush", device=DEFAULT_DEVICE, warnings=False
    )
    assert s.trace.cycles is not None and report.cycles is not None
    assert s.trace.cycles <= 1.03 * report.cycles
    hardware = s.build(
        target="verilog",
        simulator="jit",
        clock_mhz=CLOCK_MHZ,
        subnormals="flush",
        device=DEFAULT_DEVICE,
    )
    assert hardware.report.resources["dsp"] <= 24
    kernel = load("bicg")
    ours, cpu = (kernel.inputs(np.random.default_rng(2), kernel.SIZES["mini"]) for _ in range(2))
    hardware(*ours)
    s.build(subnormals="flush")(*cpu)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(ours, cpu, strict=True))
    assert hardware.cycles == s.trace.cycles


def test_an_unknown_kernel_is_named() -> None:
    with pytest.raises(
        KeyError, match="PolyBench on a budget has no kernel 'gem'; there are gemm, "
    ):
        found("gem", 24)
