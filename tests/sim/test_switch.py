"""The switch between channels of HBM: published figures, both engines, and where a design crosses it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import allo
from allo.backend.sim import external_memory
from allo.backend.sim.dram import devices
from allo.backend.sim.dram.crossing import Master, switched
from allo.backend.sim.dram.switch import Switch, ports_of
from allo.dialects.diagnostics import SimulationError
from allo.ir.types import int32
from benchmarks.memory_model import across
from benchmarks.memory_switch import latencies, lateral_rate, random_rate

CELLS = 2048
FASTER = {
    "enter": lambda: latencies(0)[0] / 55,
    "hop": lambda: latencies(12)[0] / 60,
    "across": lambda: latencies(16)[0] / 71,
}


def scaled(A: int32[CELLS], B: int32[CELLS]):
    for i in range(CELLS):
        B[i] = A[i] * 3


def run(engine, switch="auto", *, bundles=("a", "b"), lying=(1, 1), timing="dram"):
    """Cycles and traffic of a run whose arrays lie on some channels, in a row."""
    s = allo.customize(scaled)
    s.pipeline("i")
    kinds = {n: {"kind": "m_axi", "bundle": b} for n, b in zip("AB", bundles, strict=True)}
    every = external_memory("hbm2", clock_mhz=300, timing=timing, switch=switch)
    first, then = lying
    memory = {"A": every[:first], "B": every[first : first + then] if then else every[:1]}
    options = {"configs": {"interface": kinds}, "memory": memory}
    mod = s.build(target="verilog", simulator=engine, clock_mhz=300, **options)
    A, B = np.arange(CELLS, dtype=np.int32), np.zeros(CELLS, np.int32)
    mod(A, B)
    assert (B == A * 3).all()
    return mod


def test_published_figures_are_within_their_limits():
    found = across(300)
    assert len(found) == 24 + 13 + 4 + 2
    assert [each for each in found if abs(each.deviation) > each.limit] == []


@pytest.mark.parametrize("field", FASTER)
def test_a_switch_without_its_cycles_is_seen(field, monkeypatch):
    quick = dataclasses.replace(devices.HBM2, switch=Switch(**{field: 0}))
    assert abs(FASTER[field]() - 1) < 0.02
    monkeypatch.setitem(devices.DEVICES, "hbm2", quick)
    assert FASTER[field]() < 0.96


def test_a_link_that_is_not_shared_and_answers_in_any_order_are_seen(monkeypatch):
    assert random_rate(4, 64, ids=True, count=300) > 10 * random_rate(4, 64, ids=False, count=300)
    monkeypatch.setattr(Switch, "links", lambda self, port, channel, writes: [2 * port + writes])
    assert lateral_rate((0, 1), 300) > 1.7 * 14.4


def test_masters_with_a_channel_each_leave_the_switch_off_and_both_engines_agree():
    off = run("jit")
    assert off.traffic.crossings == ()
    assert run("jit", "off").cycles == off.cycles < run("jit", "on").cycles < off.cycles + 12
    across = run("jit", lying=(2, 0))
    assert {(c.master, c.port, c.channel, c.cycles) for c in across.traffic.crossings} == {
        ("a", 0, "hbm2[0]", 7),
        ("a", 0, "hbm2[1]", 7),
        ("b", 1, "hbm2[0]", 7),
    }
    assert "switch: b at port 1 to hbm2[0], 0 links, +7 cycles; 128 requests waited" in str(
        across.traffic
    )
    other = run("verilator", lying=(2, 0))
    assert (other.cycles, other.traffic) == (across.cycles, across.traffic)
    # One id: each line waits for the answer of the one before, which lies on the other channel.
    waits = [c.wait_ns for c in across.traffic.crossings if c.master == "a"]
    assert across.cycles > 1.5 * off.cycles
    assert min(waits) > 1000
    assert abs(across.foretold.cycles / across.cycles - 1) < 0.1
    assert run("jit", bundles=("a", "a"), lying=(1, 0)).traffic.crossings == ()


def test_a_switch_that_is_off_or_not_there_is_an_error():
    with pytest.raises(SimulationError, match="hbm2 is off, and master a reaches 2 channels"):
        run("jit", "off", lying=(2, 1))
    with pytest.raises(SimulationError, match="off, and masters a and b reach one channel"):
        run("jit", "off", lying=(1, 0))
    for kind, timing in (("ddr4_2400", "dram"), ("hbm2", "ideal")):
        with pytest.raises(SimulationError, match='switch="on", and no switch between channels'):
            external_memory(kind, clock_mhz=300, timing=timing, switch="on")
    on, off = (external_memory("hbm2", 300, timing="dram", switch=s) for s in ("on", "off"))
    with pytest.raises(SimulationError, match="have switch='off' and switch='on'"):
        switched({"hbm2[0]": on[0], "hbm2[1]": off[1]}, [Master("a", (on[0],), True)])
    with pytest.raises(SimulationError, match="33 masters reach channels of HBM, which have 32"):
        ports_of({str(n): [0] for n in range(33)}, Switch())


def test_a_master_is_beside_its_channel_or_as_near_as_it_can_be():
    assert ports_of({"a": [5], "b": [5], "c": [4], "d": [6, 7], "e": [5]}, Switch()) == {
        "a": 5, "c": 4, "d": 6, "b": 7, "e": 3,
    }  # fmt: skip
    switch = Switch()
    assert switch.links(0, 31, writes=False) == [0, *range(64, 120, 8)]
    assert switch.links(0, 31, writes=True) == [1, *range(69, 125, 8)]
    assert [switch.cycles(port, 0) for port in (0, 4, 15, 16, 31)] == [7, 9, 13, 24, 30]
