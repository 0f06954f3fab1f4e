"""Subscripts of banks that are no power of two are divided exactly, and without multiplier blocks."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl.read.values.glue import reciprocal
from allo.ir.types import int16


@pytest.mark.parametrize("width", [2, 3, 5, 8])
def test_a_reciprocal_divides_every_number(width: int):
    for divisor in range(3, 1 << width):
        if divisor & (divisor - 1):
            factor, shift = reciprocal(width, divisor)
            assert [(n * factor) >> shift for n in range(1 << width)] == [
                n // divisor for n in range(1 << width)
            ]


@pytest.mark.parametrize("width", [13, 24, 32])
def test_a_reciprocal_divides_the_numbers_beside_multiples(width: int):
    rng = np.random.default_rng(width)
    for divisor in (3, 7, 14, 105, 220, 1000, 4095):
        factor, shift = reciprocal(width, divisor)
        tops = [int(n) // divisor for n in rng.integers(0, 1 << width, 200)] + [
            (1 << width) // divisor
        ]
        for multiple in tops:
            for n in (multiple * divisor - 1, multiple * divisor, multiple * divisor + divisor - 1):
                if 0 <= n < 1 << width:
                    assert (n * factor) >> shift == n // divisor


@pytest.mark.parametrize("kind", [Partition.Cyclic, Partition.Block])
@pytest.mark.parametrize("factor", [3, 7, 11])
def test_banks_of_any_number_take_no_multiplier_block(kind: Partition, factor: int):
    def add(x: int16[50], y: int16[50]) -> int16[50]:
        z: int16[50]
        for i in range(50):
            z[i] = x[i] + y[49 - i]
        return z

    s = allo.customize(add)
    s.partition(s.x, kind, 1, factor)
    s.partition(s.y, kind, 1, factor)
    s.pipeline("i")
    module = s.build(target="verilog", simulator="jit", max_dsp=0)
    rng = np.random.default_rng(factor)
    x, y = (rng.integers(-9999, 9999, 50).astype(np.int16) for _ in range(2))
    np.testing.assert_array_equal(module(x, y), x + y[::-1])
    assert "dsp" not in module.report.resources
