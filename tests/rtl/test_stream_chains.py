"""Stream operations that pass in one cycle in program order: as many as the clock of the device allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import Stream, int8, int32
from allo.library.systolic_array import schedule_systolic_array, systolic_array
from tests.figures_plugin import Held

SIZE, DEPTH = 4, 16


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "xcup"),
        ({"device": "ecp5", "clock_mhz": 60}, "slow"),
        # Sixteen words are taken in three steps, not in two, and a word has a second register in front of
        # its product; but the feeds have a place more, for places are given back late.
        ({"device": "ecp5", "clock_mhz": 100}, "fast"),
    ],
    ids=["xcup", "slow", "fast"],
)
def test_words_of_many_streams_in_one_cycle(
    options: dict[str, Any], name: str, figures: Held
) -> None:
    parameters = [int8, int8, int32, SIZE, DEPTH, SIZE]
    s = schedule_systolic_array(allo.customize(systolic_array, instantiate=parameters))
    module = s.build(target="verilog", simulator="jit", **options)
    rng = np.random.default_rng(1)
    a = rng.integers(-128, 128, (SIZE, DEPTH)).astype(np.int8)
    b = rng.integers(-128, 128, (DEPTH, SIZE)).astype(np.int8)
    c = np.zeros((SIZE, SIZE), np.int32)
    module(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))
    figures.hold(f"rtl.stream_chains.{name}.cycles", module.cycles)


def products(x: Stream[int8, 2], y: Stream[int8, 2], z: Stream[int32, 2]):
    for k in range(DEPTH):
        a: int8 = x.get()
        b: int8 = y.get()
        z.put(a * b + k)


@pytest.mark.parametrize(
    ("options", "depth"),
    [
        ({"device": "ecp5", "clock_mhz": 60}, 1),
        ({"device": "ecp5", "clock_mhz": 100}, 4),
        ({"device": "xcup", "clock_mhz": 100}, 1),
    ],
    ids=["slow", "fast", "xcup"],
)
def test_words_on_their_way_to_a_multiplier_block(options: dict[str, Any], depth: int) -> None:
    """At a fast clock of a device with far blocks a second register takes them, and nothing else changes."""
    s = allo.customize(products)
    s.pipeline("k")
    module = s.build(target="verilog", simulator="jit", **options)
    loop = module.report.functions[0].loops[0]
    assert (loop.ii, loop.depth) == (1, depth)
    x, y = np.arange(DEPTH, dtype=np.int8) - 5, np.arange(DEPTH, dtype=np.int8)[::-1] * 9
    z = np.zeros(DEPTH, np.int32)
    module(x, y, z)
    np.testing.assert_array_equal(z, x.astype(np.int32) * y + np.arange(DEPTH))
