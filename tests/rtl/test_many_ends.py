"""Regions of many processes whose ends are joined by registers end once a start, and start again at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import Stream, int32

MANY, WORDS = 40, 3


@df.region()
def spread(A: int32[WORDS], B: int32[WORDS]):
    """A word goes through many processes, each of which adds its number."""
    links: Stream[int32, 2][MANY + 1]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[WORDS]):
        for i in range(WORDS):
            links[0].put(a[i])

    @df.kernel(mapping=[MANY])
    def each():
        p = df.get_pid()
        for _ in range(WORDS):
            word: int32 = links[p].get()
            links[p + 1].put(word + p)

    @df.kernel(mapping=[1], args=[B])
    def last(b: int32[WORDS]):
        for i in range(WORDS):
            b[i] = links[MANY].get()


@df.region()
def unread(A: int32[MANY]):
    """Many processes that give words, the last of which comes after all have been taken: they end last."""
    links: Stream[int32, 4][MANY]

    @df.kernel(mapping=[MANY])
    def each():
        p = df.get_pid()
        with allo.meta_if(p == MANY - 1):
            for _ in range(50):
                links[p].put(p)
        with allo.meta_else():
            links[p].put(p)

    @df.kernel(mapping=[1], args=[A])
    def last(a: int32[MANY]):
        with allo.meta_for(MANY - 1) as i:
            a[i] = links[i].get()
        for _ in range(50):
            a[MANY - 1] = links[MANY - 1].get()


@df.region()
def again(A: int32[WORDS], B: int32[WORDS]):
    """A process runs the region four times, one right after the other."""

    @df.kernel(mapping=[1], args=[A, B])
    def calls(a: int32[WORDS], b: int32[WORDS]):
        for _ in range(4):
            spread(a, b)
            for i in range(WORDS):
                a[i] = b[i]


def built(kernel: Any, simulator: str, device: str) -> Any:
    return allo.customize(kernel).build(target="verilog", simulator=simulator, device=device)


@pytest.mark.parametrize("device", ["xcup", "ecp5"])
@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_each_start_ends_once(simulator: str, device: str) -> None:
    hardware = built(spread, simulator, device)
    assert hardware.verilog.count("  reg         group_over") == 3
    a = np.array([5, -7, 11], np.int32)
    cycles = []
    for _ in range(3):
        out = np.zeros(WORDS, np.int32)
        hardware(a, out)
        assert np.array_equal(out, a + sum(range(MANY)))
        cycles.append(hardware.cycles)
    assert len(set(cycles)) == 1


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_a_region_starts_again_as_soon_as_it_has_ended(simulator: str) -> None:
    hardware = built(again, simulator, "xcup")
    a, b = np.array([5, -7, 11], np.int32), np.zeros(WORDS, np.int32)
    expected = a + 4 * sum(range(MANY))
    hardware(a, b)
    assert np.array_equal(a, expected)
    assert np.array_equal(b, expected)


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_processes_that_give_words_may_end_last(simulator: str) -> None:
    hardware = built(unread, simulator, "xcup")
    for _ in range(2):
        out = np.zeros(MANY, np.int32)
        hardware(out)
        assert np.array_equal(out, np.arange(MANY))
