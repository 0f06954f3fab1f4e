"""The benchmark of float units beside AMD's cores: what it builds, chooses and records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from allo.backend import devices
from allo.backend.rtl.operators.modules import pipelined_module
from allo.backend.rtl.operators.netlist import Signal
from allo.backend.rtl.operators.pipeline import pipeline
from allo.backend.rtl.operators.request import drawn
from benchmarks.float_cores import AMD, FLUSH, KEEP, UNITS, Core, key_of, wanted
from benchmarks.float_units import _is_better, estimated, found_at, mapped, of_latency
from scripts.pages.figures.cores import float_units
from scripts.pages.figures.store import Figures

BY_NAME = {unit.name: unit for unit in UNITS}


def test_every_core_has_rows_of_ours():
    for name, cores in AMD.items():
        rows = wanted(BY_NAME[name])
        assert {latency for latency, _ in rows} >= set(cores)
        recorded = Figures().numbers
        if name in ("add.f32", "mul.f32", "less.f32"):
            keys = [key_of(name, latency, FLUSH) for latency in cores]
            assert [key for key in keys if f"{key}.lut" not in recorded] == []


@pytest.mark.parametrize("latency", [1, 2, 3])
def test_a_unit_has_the_cycles_asked_for(latency):
    unit = BY_NAME["mul.bf16"]
    operator, clock = of_latency(unit, latency, KEEP, "")[0]
    assert max(1, operator.latency) == latency
    faster = found_at(unit, clock + 10, KEEP, "")
    assert max(1, faster.latency) > latency


@pytest.mark.slow
def test_yosys_agrees_with_the_estimate_of_a_small_unit(tmp_path: Path):
    operator, clock = of_latency(BY_NAME["less.bf16"], 1, KEEP, "")[0]
    module, guess = estimated(operator, clock)
    made = mapped(module, tmp_path)
    assert made.ff == guess.ff == 1 and made.dsp == 0
    assert made.lut == pytest.approx(guess.lut, rel=0.35)
    assert guess.mhz > 100


@pytest.mark.slow
def test_sums_and_registers_of_cascades_lie_in_blocks(tmp_path: Path):
    """Two digits of 17 bits: their sum and its register are in a block, but not behind other logic."""

    def unit(cascade: bool) -> Core:
        def draw(a: Signal, b: Signal) -> Signal:
            low, high = (a.zext(43) * b.bits(place, 17).zext(43) for place in (0, 17))
            return low.shru(17) + high if cascade else (low ^ high).shru(17) + high

        net = drawn(draw, (26, 34))
        plan = pipeline(net, devices.family("xcup").operators, 100.0)
        return mapped(replace(pipelined_module(net, "sum", plan), private=False), tmp_path)

    inside, outside = unit(True), unit(False)
    assert inside.lut == inside.ff == 0
    assert outside.lut >= 43


def test_the_unit_taken_reaches_the_clock_or_is_the_smaller():
    small, quick, core = Core(300, 100, 0, 310), Core(500, 200, 0, 390), Core(385, 152, 0, 300)
    assert _is_better(small, quick, core) and not _is_better(quick, small, core)
    assert _is_better(quick, small, replace(core, mhz=350))
    assert _is_better(quick, small, replace(core, mhz=400))
    assert _is_better(replace(small, mhz=360), quick, replace(core, mhz=400))
    assert _is_better(small, quick, None)


def test_the_table_has_a_row_for_each_core():
    lines = float_units(Figures()).splitlines()
    assert len(lines) == 2 + sum(map(len, AMD.values()))
    row = next(line for line in lines if line.startswith("| f32 add | 3 |"))
    key = key_of("add.f32", 3, FLUSH)
    lut = Figures().find(f"{key}.lut")
    assert f"| {lut:,} / " in row and f"| {lut / 385:.2f}, " in row
