"""Designs on channels of dynamic memory: equal on both engines, as fast as the model by itself."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.sim import StreamModel, external_memory
from allo.backend.sim.boundary.traffic import make_outside
from allo.backend.sim.dram import devices
from allo.backend.sim.dram.channel import DramChannel
from allo.backend.sim.engines.interface import BuildOptions, RunOptions, find_engine
from allo.backend.sim.engines.progress import patience_of
from allo.dialects.diagnostics import SimulationError
from allo.ir.types import Stream, UInt, int32

from . import designs

LINES, CELLS, ASKED = 4096, 1 << 17, 512
HBM = external_memory("hbm2", clock_mhz=450, timing="dram")
ENGINES = ("verilator", "jit")


def summed(x: UInt(512)[LINES], y: UInt(512)[16]):
    for i in range(LINES):
        y[i % 16] = x[i]


def gathered(at: int32[ASKED], x: int32[CELLS], y: int32[ASKED]):
    for i in range(ASKED):
        y[i] = x[at[i]]


def build(kernel, simulator, **memory):
    s = allo.customize(kernel)
    s.pipeline("i")
    return s.build(target="verilog", simulator=simulator, memory=memory)


def pattern(name):
    if name == "random":
        return np.random.default_rng(3).integers(0, CELLS, ASKED).astype(np.int32)
    return (np.arange(ASKED) * {"sequential": 1, "strided": 64}[name]).astype(np.int32)


def gather(mod, at):
    x, y = (
        np.random.default_rng(1).integers(0, 1 << 30, CELLS, dtype=np.int32),
        np.zeros(ASKED, np.int32),
    )
    mod(at, x, y)
    assert (y == x[at]).all()
    return mod.cycles, mod.traffic


def stream(simulator):
    mod = build(summed, simulator, x=HBM[0])
    rng = np.random.default_rng(0)
    x = np.array([int.from_bytes(rng.bytes(64)) for _ in range(LINES)], object)
    y = np.zeros(16, object)
    mod(x, y)
    assert (y == x[-16:]).all()
    return mod.cycles, mod.traffic


def test_sequential_lines_are_as_fast_as_the_model_by_itself():
    cycles, traffic = stream("jit")
    alone = DramChannel(devices.HBM2).replay(np.arange(2 * LINES) * 32)[-1] / 2  # 900 MHz
    assert alone <= cycles <= 1.05 * alone
    moved = traffic.channels["hbm2[0]"]
    assert moved.timing == "dram"
    assert moved.bytes == 64 * LINES
    assert moved.hits + moved.misses + moved.conflicts == 2 * LINES
    assert moved.refreshes == cycles * 1000 // 450 // 3900
    assert 106 < moved.mean_ns < moved.longest_ns
    assert stream("verilator") == (cycles, traffic)


def test_gathers_take_the_same_cycles_on_both_engines_and_random_ones_the_most():
    verilator, jit = (build(gathered, engine, x=HBM[0]) for engine in ENGINES)
    found = {}
    for name in ("sequential", "strided", "random"):
        found[name] = gather(jit, pattern(name))
        assert gather(verilator, pattern(name)) == found[name] == gather(jit, pattern(name))
    ends = [cycles for cycles, _ in found.values()]
    assert ends == sorted(set(ends))
    hits = [t.channels["hbm2[0]"].hits for _, t in found.values()]
    assert hits[2] < hits[1] / 10
    text = str(found["random"][1]).splitlines()
    assert text[0].split()[:6] == ["channel", "timing", "bytes", "used", "hits", "misses"]
    assert text[1].split()[:2] == ["hbm2[0]", "dram"]


@pytest.mark.parametrize("change", [{"refi": 1e9}, {"rp": 28.0}, {"front_ns": 0.0}])
def test_a_changed_device_changes_the_cycles(change, monkeypatch):
    mod = build(gathered, "jit", x=HBM[0])
    cycles, traffic = gather(mod, pattern("random"))
    monkeypatch.setitem(devices.DEVICES, "hbm2", dataclasses.replace(devices.HBM2, **change))
    changed, after = gather(mod, pattern("random"))
    assert (changed > cycles) == ("rp" in change)
    assert changed != cycles
    assert (after.channels["hbm2[0]"].refreshes == 0) == ("refi" in change)
    assert traffic.channels["hbm2[0]"].refreshes > 10


def copy_region(simulator, **options):
    @df.region()
    def top(A: int32[2048], B: int32[2048]):
        words: Stream[int32, 64]

        @df.kernel(mapping=[1], args=[A])
        def load(a: int32[2048]):
            for i in range(2048):
                words.put(a[i])

        @df.kernel(mapping=[1], args=[B])
        def store(b: int32[2048]):
            for j in range(2048):
                b[j] = words.get()

    s = df.customize(top)
    s.pipeline("load_0:i")
    s.pipeline("store_0:j")
    mod = s.build(target="verilog", simulator=simulator, **options)
    A, B = np.arange(2048, dtype=np.int32) * 7, np.zeros(2048, np.int32)
    mod(A, B)
    assert (A == B).all()
    return mod.cycles, mod.traffic


def test_kernels_of_a_region_read_and_write_one_channel():
    cycles, traffic = copy_region("jit", memory={"A": HBM[0], "B": HBM[0]})
    moved = traffic.channels["hbm2[0]"]
    assert moved.bytes == 2 * 4 * 2048
    assert moved.turnarounds > 0
    assert traffic.stall_cycles == 0
    apart, _ = copy_region("jit", memory={"A": HBM[0], "B": HBM[1]})
    assert copy_region("jit")[0] < apart <= cycles
    assert copy_region("verilator", memory={"A": HBM[0], "B": HBM[0]}) == (cycles, traffic)


def test_streams_go_over_one_channel_in_both_directions():
    ends = {name: StreamModel(channels=(HBM[0],)) for name in ("x", "y")}
    outside = make_outside(None, ends, [], ["x", "y"])
    design, found = designs.stream_adder(2000), []
    x = np.arange(2000, dtype=np.uint32)
    for engine in ENGINES:
        model = find_engine(engine).build(design, BuildOptions(outside=outside))
        for _ in range(2):
            y = np.zeros_like(x)
            result = model.run({"x": x, "y": y}, {"n": 5}, RunOptions())
            assert (y == x + 5).all()
            found.append((result.cycles, result.traffic))
    assert found[0] == found[1] == found[2] == found[3]
    assert found[0][0] > 2002
    moved = found[0][1].channels["hbm2[0]"]
    assert moved.bytes == 2 * 64 * 125
    assert moved.turnarounds > 0


def test_a_slow_design_is_not_taken_for_a_deadlock():
    mod = build(gathered, "jit", x=HBM[0])
    outside = make_outside({"x": HBM[0]}, None, ["x"], [])
    longest = gather(mod, pattern("random"))[1].channels["hbm2[0]"].longest_ns * 0.45
    assert patience_of(mod.design, outside) > longest


def test_channels_are_ideal_unless_told_otherwise():
    ideal = external_memory("hbm2", clock_mhz=450)
    _, traffic = gather(build(gathered, "jit", x=ideal[0]), pattern("strided"))
    assert traffic.channels["hbm2[0]"].timing == "ideal"
    assert str(traffic).splitlines()[1].split()[:2] == ["hbm2[0]", "ideal"]


def test_channels_that_cannot_be_are_refused():
    with pytest.raises(SimulationError, match='timing="dram" and random stalls'):
        external_memory("hbm2", clock_mhz=450, timing="dram", stall=0.1)
    with pytest.raises(SimulationError, match="but not a known device and a clock"):
        allo.backend.sim.MemoryChannel("m", 4, timing="dram")
    ideal = dataclasses.replace(HBM[1], timing="ideal")
    with pytest.raises(SimulationError, match="differ in timing"):
        gather(build(gathered, "jit", x=(HBM[0], ideal)), pattern("random"))
    assert StreamModel(channels=(HBM[0],)).channels[0].timing == "dram"
