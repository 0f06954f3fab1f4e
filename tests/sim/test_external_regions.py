"""External memory makes one kernel of a region wait, not the design."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.sim import MemoryChannel, PerBank
from allo.ir.types import Stream, int32

WORDS, WORK = 256, 400


def build(simulator: str, **options):
    @df.region()
    def top(A: int32[WORDS], B: int32[WORDS]):
        words: Stream[int32, WORDS]

        @df.kernel(mapping=[1], args=[A])
        def load(a: int32[WORDS]):
            for i in range(WORDS):
                words.put(a[i])

        @df.kernel(mapping=[1], args=[B])
        def use(b: int32[WORDS]):
            state: int32 = 1
            for w in range(WORK):
                state = state * 3 + 1
            for j in range(WORDS):
                b[j] = words.get() + state

    s = df.customize(top)
    for loop in ("load_0:i", "use_0:w", "use_0:j"):
        s.pipeline(loop)
    return s.build(target="verilog", simulator=simulator, **options)


def expected_sum(A: np.ndarray) -> np.ndarray:
    state = 1
    for _ in range(WORK):
        state = (state * 3 + 1) & 0xFFFFFFFF
    return A + np.array(state, np.uint32).view(np.int32)


def run(mod) -> tuple[np.ndarray, int]:
    A, B = np.arange(WORDS, dtype=np.int32) * 7 - 50, np.zeros(WORDS, np.int32)
    mod(A, B)
    assert np.array_equal(B, expected_sum(A))
    return B, mod.cycles


def test_a_slow_memory_hides_behind_other_kernels():
    _, ideal = run(build("jit"))
    slow = MemoryChannel("hbm", bytes_per_cycle=4, latency=40)
    mod = build("jit", memory={"A": slow})
    _, cycles = run(mod)
    assert cycles == ideal
    assert mod.traffic.stall_cycles == 0
    assert mod.traffic.channels["hbm"].bytes == 4 * WORDS


def test_a_memory_that_is_the_limit_sets_the_pace():
    mod = build("jit", memory={"A": MemoryChannel("hbm", bytes_per_cycle=0.5, latency=10)})
    _, cycles = run(mod)
    assert 2 * 4 * WORDS <= cycles < 1.05 * 2 * 4 * WORDS
    assert mod.traffic.channels["hbm"].utilisation > 0.95


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_stalls_change_nothing_and_engines_agree(seed: int):
    channel = MemoryChannel("hbm", bytes_per_cycle=2, latency=5, stall=0.4, stall_cycles=30)
    outcomes = []
    for simulator in ("jit", "verilator"):
        mod = build(simulator, memory={"A": channel, "B": channel})
        A, B = np.arange(WORDS, dtype=np.int32), np.zeros(WORDS, np.int32)
        mod(A, B, stall_seed=seed)
        outcomes.append(mod.cycles)
        assert np.array_equal(B, expected_sum(A))
    assert outcomes[0] == outcomes[1]


def test_a_plain_function_still_holds_the_clock():
    def copy(A: int32[WORDS], B: int32[WORDS]):
        for i in range(WORDS):
            B[i] = A[i]

    s = allo.customize(copy)
    s.pipeline("i")
    memory = {"A": MemoryChannel("hbm", bytes_per_cycle=1, latency=5)}
    mod = s.build(target="verilog", simulator="jit", memory=memory)
    A, B = np.arange(WORDS, dtype=np.int32), np.zeros(WORDS, np.int32)
    mod(A, B)
    assert np.array_equal(A, B)
    assert mod.traffic.stall_cycles > 3 * WORDS


def test_the_ends_of_many_readers_are_joined_by_registers():
    """Else the memory's answer would go through the end of a reader to that of the region in one cycle."""
    count, each = 20, 8

    @df.region()
    def top(A: int32[count, each], B: int32[each]):
        words: Stream[int32, 4][count]

        @df.kernel(mapping=[count], args=[A])
        def load(a: int32[count, each]):
            p = df.get_pid()
            for i in range(each):
                words[p].put(a[p, i])

        @df.kernel(mapping=[1], args=[B])
        def add(b: int32[each]):
            for j in range(each):
                total: int32 = 0
                with allo.meta_for(count) as p:
                    total += words[p].get()
                b[j] = total

    s = df.customize(top)
    s.partition("top:A", dim=1)
    channels = [MemoryChannel(f"hbm[{n}]", bytes_per_cycle=8, latency=9) for n in range(count)]
    mod = s.build(target="verilog", simulator="jit", memory={"A": PerBank(channels)})
    (ended,) = re.findall(r"assign done = (\w+);", mod.verilog.split("endmodule")[0])
    (joined,) = re.findall(rf"wire +{ended} = (.*?);", mod.verilog.split("endmodule")[0], re.S)
    assert "producers_over" in joined and joined.count("&") == 1, joined
    A = np.arange(count * each, dtype=np.int32).reshape(count, each)
    for run in (A, A[::-1].copy()):
        B = np.zeros(each, np.int32)
        mod(run, B)
        assert np.array_equal(B, A.sum(0))
