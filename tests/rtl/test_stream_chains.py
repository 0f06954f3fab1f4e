"""Stream operations that pass in one cycle in program order: as many as the clock of the device allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import int8, int32
from allo.library.systolic_array import schedule_systolic_array, systolic_array

SIZE, DEPTH = 4, 16


@pytest.mark.parametrize(
    ("options", "cycles"),
    [
        ({}, 35),
        ({"device": "ecp5", "clock_mhz": 60}, 34),
        # Sixteen words are taken in three steps, not in two, but the feeds have a place more, for
        # places are given back late.
        ({"device": "ecp5", "clock_mhz": 100}, 34),
    ],
    ids=["xcup", "slow", "fast"],
)
def test_words_of_many_streams_in_one_cycle(options: dict[str, Any], cycles: int) -> None:
    parameters = [int8, int8, int32, SIZE, DEPTH, SIZE]
    s = schedule_systolic_array(allo.customize(systolic_array, instantiate=parameters))
    module = s.build(target="verilog", simulator="jit", **options)
    rng = np.random.default_rng(1)
    a = rng.integers(-128, 128, (SIZE, DEPTH)).astype(np.int8)
    b = rng.integers(-128, 128, (DEPTH, SIZE)).astype(np.int8)
    c = np.zeros((SIZE, SIZE), np.int32)
    module(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))
    assert module.cycles == cycles
