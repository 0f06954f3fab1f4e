"""Dataflow regions as hardware: both engines, external memory, state kept between calls."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.sim import MemoryChannel
from allo.ir.types import Stateful, Stream, float32, int32

M, N = 6, 16


@df.region()
def pipeline(A: float32[M, N], B: float32[M, N]):
    pipe: Stream[float32, 2]

    @df.kernel(mapping=[1], args=[A])
    def producer(a: float32[M, N]):
        for i, j in allo.grid(M, N):
            pipe.put(a[i, j] * 2)

    @df.kernel(mapping=[1], args=[B])
    def consumer(b: float32[M, N]):
        for i, j in allo.grid(M, N):
            b[i, j] = pipe.get() + 1


def counted(x: int32) -> int32:
    total: int32 @ Stateful = 0
    total += x
    return total


@pytest.fixture(scope="module")
def region():
    s = df.customize(pipeline)
    s.pipeline("producer_0:j")
    s.pipeline("consumer_0:j")
    return s.build(target="verilog")


def test_a_region_gives_the_same_whatever_the_memory(region):
    a = np.random.default_rng(1).standard_normal((M, N)).astype(np.float32)
    cycles = {}
    for rate in (None, 4, 2, 1):
        for engine in ("verilator", "jit"):
            memory = {"A": MemoryChannel("m", rate, latency=9, stall=0.1)} if rate else None
            tried = region.variant(memory=memory, simulator=engine)
            b = np.zeros_like(a)
            tried(a, b, stall_seed=5)
            np.testing.assert_array_equal(b, a * 2 + 1)
            cycles[rate, engine] = tried.cycles
    assert all(cycles[rate, "verilator"] == cycles[rate, "jit"] for rate in (None, 4, 2, 1))
    by_rate = [cycles[rate, "jit"] for rate in (None, 4, 2, 1)]
    assert by_rate == sorted(by_rate) and by_rate[-1] >= a.nbytes


def test_a_waveform_of_a_region(region, tmp_path):
    a = np.random.default_rng(2).standard_normal((M, N)).astype(np.float32)
    b = np.zeros_like(a)
    region(a, b, wave=tmp_path / "region.vcd")
    np.testing.assert_array_equal(b, a * 2 + 1)
    text = (tmp_path / "region.vcd").read_text()
    assert "$scope module pipeline $end" in text
    last = [int(line[1:]) for line in text.splitlines() if line.startswith("#")][-1]
    assert last >= 10_000 * region.cycles
    assert "TOP.pipeline.done" in (tmp_path / "region.gtkw").read_text()


@pytest.mark.parametrize("engine", ["verilator", "jit"])
def test_state_lives_on_between_calls_until_reset(engine):
    mod = allo.customize(counted).build(target="verilog", simulator=engine)
    assert [mod(5), mod(7), mod(-2)] == [5, 12, 10]
    mod.reset()
    assert mod(1) == 1
