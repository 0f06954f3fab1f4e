"""External memories and streams: bandwidth, latency, stalls; equal on both engines."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.backend.sim import MemoryChannel, PerBank, StreamModel, external_memory
from allo.backend.sim.boundary.traffic import make_outside
from allo.backend.sim.engines.interface import BuildOptions, RunOptions, find_engine
from allo.dialects.core.partition import Partition
from allo.dialects.diagnostics import OptionError, SimulationError
from allo.ir.types import UInt

from . import designs

pytestmark = pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")

ENGINES = ("verilator", "jit")
WORDS = 4096


@pytest.fixture(scope="module")
def vadd():
    return designs.vector_add(32, (1, WORDS), Partition.Block)


def run_vadd(design, engine, memory, seed=1):
    outside = make_outside(memory, None, ["A", "B", "C"], [])
    model = find_engine(engine).build(design, BuildOptions(outside=outside))
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 1 << 32, size=(2, 1, WORDS), dtype=np.uint32)
    c = np.zeros_like(a)
    result = model.run({"A": a, "B": b, "C": c}, {}, RunOptions(stall_seed=seed))
    np.testing.assert_array_equal(c, a + b)
    return result


@pytest.mark.parametrize("engine", ENGINES)
def test_bandwidth_bounds_a_run(vadd, engine):
    ideal = vadd.report.cycles
    for rate in (1, 2, 4):
        result = run_vadd(vadd, engine, {"A": MemoryChannel("m", rate)})
        least = 4 * WORDS / rate
        assert least <= result.cycles <= 1.05 * least + 70
        traffic = result.traffic
        assert traffic.channels["m"].bytes == 4 * WORDS
        assert traffic.channels["m"].utilisation > 0.95
        assert traffic.stall_cycles == result.cycles - ideal
    assert run_vadd(vadd, engine, {"A": MemoryChannel("m", 1024)}).cycles <= ideal + 4


def test_channels_are_shared_and_interleaved(vadd):
    one = MemoryChannel("m", 8)
    shared = run_vadd(vadd, "jit", {"A": one, "B": one, "C": one})
    assert shared.traffic.channels["m"].bytes == 3 * 4 * WORDS
    four = tuple(MemoryChannel(f"m{k}", 2) for k in range(4))
    spread = run_vadd(vadd, "jit", {"A": four, "B": four, "C": four})
    assert sum(c.bytes for c in spread.traffic.channels.values()) == 3 * 4 * WORDS
    assert abs(spread.cycles - shared.cycles) < 0.1 * shared.cycles


def copied[B](x: UInt(B)[60], y: UInt(B)[60]):
    for i in range(60):
        y[i] = x[i]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bits", [8, 24, 96, 512, 520, 1024, 1536])
def test_every_line_of_a_word_moves(bits: int, engine: str):
    """60 words without a gap between them are so many lines; each moves once, whatever the word's width."""
    lines = -(-60 * bits // 512)
    s = allo.customize(copied, instantiate=[bits])
    s.pipeline("i")
    rng = np.random.default_rng(bits)
    x = np.array([int.from_bytes(rng.bytes(192)) >> (1536 - bits) for _ in range(60)], object)
    for ways in (1, 4):
        channels = tuple(MemoryChannel(f"m{k}", 16, latency=30) for k in range(ways))
        memory = {"x": channels, "y": MemoryChannel("w", 1024)}
        mod = s.build(target="verilog", simulator=engine, memory=memory)
        y = np.zeros(60, object)
        mod(x, y)
        assert (x == y).all()
        moved = mod.traffic.channels
        assert sum(moved[c.name].bytes for c in channels) == 64 * lines
        assert moved["w"].bytes == 64 * lines
        least = max(mod.report.cycles, 4 * -(-lines // ways))
        assert least <= mod.cycles <= least + 4 + 34


def test_a_word_is_there_when_its_last_line_is():
    """A word of 4 lines takes 4 × 8 cycles of its channel; the port that waits books them once."""
    s = allo.customize(copied, instantiate=[2048])
    s.pipeline("i")
    mod = s.build(target="verilog", simulator="jit", memory={"x": MemoryChannel("m", 8, latency=5)})
    x, y = np.arange(60, dtype=object), np.zeros(60, object)
    mod(x, y)
    assert (x == y).all()
    assert mod.traffic.channels["m"].bytes == 60 * 4 * 64
    assert 60 * 32 <= mod.cycles <= 60 * 32 + 5 + 10


@pytest.mark.parametrize("engine", ENGINES)
def test_each_bank_has_a_channel_of_its_own(vadd, engine: str):
    channels = [MemoryChannel("m0", 4), MemoryChannel("m1", 1), MemoryChannel("m2", 4)]
    result = run_vadd(vadd, engine, {"A": PerBank(channels)})
    moved = [result.traffic.channels[c.name].bytes for c in channels]
    assert moved == [2 * WORDS, 2 * WORDS, 0]
    assert 2 * WORDS <= result.cycles <= 2.1 * WORDS + 70


def test_banks_without_channels_are_refused():
    with pytest.raises(SimulationError, match="PerBank has no channels"):
        PerBank(())
    with pytest.raises(SimulationError, match="PerBank takes MemoryChannels only"):
        PerBank(("hbm",))


def test_prefetch_hides_the_latency_unless_told_otherwise(vadd):
    told = run_vadd(vadd, "jit", {"A": MemoryChannel("m", 4, latency=500, prefetch=8)})
    free = run_vadd(vadd, "jit", {"A": MemoryChannel("m", 4, latency=500)})
    assert told.cycles > 1.9 * WORDS
    assert WORDS <= free.cycles <= WORDS + 600


def test_prefetch_hides_latency(vadd):
    slow = run_vadd(vadd, "jit", {"A": MemoryChannel("m", 64, latency=100, prefetch=1)})
    fast = run_vadd(vadd, "jit", {"A": MemoryChannel("m", 64, latency=100, prefetch=16)})
    assert slow.cycles > 3 * vadd.report.cycles
    assert fast.cycles < vadd.report.cycles + 300


def test_random_stalls_are_equal_on_both_engines_and_repeat(vadd):
    memory = {
        "A": MemoryChannel("a", 8, latency=20, stall=0.2),
        "C": external_memory("hbm2", 250, stall=0.1)[:2],
    }
    results = [run_vadd(vadd, engine, memory, seed) for seed in (1, 2) for engine in ENGINES]
    assert results[0] == results[1] and results[2] == results[3]
    assert results[0].cycles != results[2].cycles


@pytest.mark.parametrize("stall", [0.0, 0.3, 0.9])
def test_streams_lose_nothing_under_stalls(stall):
    design = designs.stream_adder(200)
    streams = {"x": StreamModel(stall), "y": StreamModel(stall)}
    outside = make_outside(None, streams, [], ["x", "y"])
    x = np.random.default_rng(7).integers(0, 1 << 32, 220, dtype=np.uint32)
    seen = []
    for engine in ENGINES:
        model = find_engine(engine).build(design, BuildOptions(outside=outside))
        for seed in (1, 2, 3):
            y = np.zeros(200, np.uint32)
            result = model.run({"x": x, "y": y}, {"n": 11}, RunOptions(stall_seed=seed))
            np.testing.assert_array_equal(y, x[:200] + np.uint32(11))
            assert [s.words for s in result.traffic.streams.values()] == [200, 200]
            seen.append(result.cycles)
    assert seen[:3] == seen[3:]
    if stall:
        assert len(set(seen)) == 3 and min(seen) > 200 / (1 - stall)
    else:
        assert set(seen) == {202}


def test_a_stream_from_memory_runs_at_its_bandwidth():
    design = designs.stream_adder(512)
    channel = MemoryChannel("m", 2, latency=40)
    outside = make_outside(None, {"x": StreamModel(channels=(channel,))}, [], ["x", "y"])
    model = find_engine("jit").build(design, BuildOptions(outside=outside))
    x, y = np.arange(512, dtype=np.uint32), np.zeros(512, np.uint32)
    result = model.run({"x": x, "y": y}, {"n": 0}, RunOptions())
    np.testing.assert_array_equal(y, x)
    assert 1024 <= result.cycles <= 1024 + 80
    assert result.traffic.channels["m"].bytes == 2048


def test_a_word_that_is_overwritten_is_an_error():
    design = designs.stream_adder(50, faulty=True)
    outside = make_outside(None, {"y": StreamModel(0.5)}, [], ["x", "y"])
    model = find_engine("jit").build(design, BuildOptions(outside=outside))
    arrays = {"x": np.arange(60, dtype=np.uint32), "y": np.zeros(60, np.uint32)}
    with pytest.raises(SimulationError, match="offset withdrew or changed a word of stream y"):
        model.run(arrays, {"n": 1}, RunOptions())


def test_a_stream_that_runs_dry_is_named():
    model = find_engine("jit").build(designs.stream_adder(50), BuildOptions())
    arrays = {"x": np.arange(20, dtype=np.uint32), "y": np.zeros(50, np.uint32)}
    with pytest.raises(SimulationError) as caught:
        model.run(arrays, {"n": 1}, RunOptions(max_cycles=1000))
    assert "note: stream x fed 20 of 20 words." in str(caught.value)
    assert "note: stream y took 20 of 50 words." in str(caught.value)


def test_models_that_make_no_sense_are_refused():
    with pytest.raises(OptionError, match="Option bytes_per_cycle of MemoryChannel takes a number"):
        MemoryChannel("m", 0)
    with pytest.raises(OptionError, match=r"Option stall of StreamModel .* from 0 to 1 \(itself"):
        StreamModel(1.0)
    with pytest.raises(SimulationError, match="no kind of memory 'hbm9'.\nhelp: known: hbm2, "):
        external_memory("hbm9", 200)
    with pytest.raises(SimulationError) as caught:
        make_outside({"W": MemoryChannel("m", 1)}, None, ["A", "B"], [])
    assert str(caught.value) == (
        "memory= names 'W', but the design has no such array argument.\nhelp: it has A, B."
    )
    two = {"A": MemoryChannel("m", 1), "B": MemoryChannel("m", 2)}
    with pytest.raises(SimulationError, match="Two different memory channels are called m."):
        _ = make_outside(two, None, ["A", "B"], []).channels
