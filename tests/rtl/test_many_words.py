"""A step that takes words of many streams goes on by a register; a region of many ends by registers."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import Stream, int32

ROUNDS, LANES = 6, 6


@df.region()
def late_words(A: int32[LANES, ROUNDS], B: int32[ROUNDS, LANES]):
    words: Stream[int32, 2][LANES]

    @df.kernel(mapping=[LANES], args=[A])
    def give(x: int32[LANES, ROUNDS]):
        i = df.get_pid()
        for r in range(ROUNDS):
            total: int32 = 0
            for k in range((i * 5 + 3) % 7):
                total += x[i, r] * k
            words[i].put(total + x[i, r])

    @df.kernel(mapping=[1], args=[B])
    def take(y: int32[ROUNDS, LANES]):
        for r in range(ROUNDS):
            with allo.meta_for(LANES) as i:
                y[r, i] = words[i].get()


def expected(a: np.ndarray) -> np.ndarray:
    factors = [1 + sum(range((i * 5 + 3) % 7)) for i in range(LANES)]
    return (a.T * np.array(factors, np.int32)).astype(np.int32)


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_words_that_come_at_different_times(simulator: str) -> None:
    module = allo.customize(late_words).build(
        target="verilog", simulator=simulator, device="ecp5", clock_mhz=60
    )
    a = np.random.default_rng(3).integers(-1000, 1000, (LANES, ROUNDS)).astype(np.int32)
    for _ in range(2):
        b = np.zeros((ROUNDS, LANES), np.int32)
        module(a, b)
        np.testing.assert_array_equal(b, expected(a))
    assert any("reg" in line and "_ready;" in line for line in module.verilog.splitlines())
