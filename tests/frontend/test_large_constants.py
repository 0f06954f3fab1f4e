"""Arrays of many elements are handed to MLIR as bytes; these are the elements' own bits."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import float32

N = 300
DRAWN = np.random.default_rng(0).standard_normal(N)
SPECIAL = DRAWN.astype(np.float32)
SPECIAL[:4] = [np.inf, -np.inf, -0.0, 1e-42]
NAN = np.where(np.arange(N) == 7, np.nan, SPECIAL).astype(np.float32)


@pytest.mark.parametrize("values", [SPECIAL, NAN, DRAWN, DRAWN * 1e300, SPECIAL[::-1]])
def test_every_element_has_its_bits(values: np.ndarray) -> None:
    def kernel() -> float32[N]:
        a: float32[N] = values
        z: float32[N]
        for i in range(N):
            z[i] = a[i]
        return z

    with np.errstate(over="ignore"):
        expected = values.astype(np.float32)
    got = allo.customize(kernel).build()()
    np.testing.assert_array_equal(got.view(np.uint32), expected.view(np.uint32))


def test_zeros_of_both_signs_are_two_arrays_and_equal_ones_are_one() -> None:
    zeros, minus = np.zeros(N, np.float32), -np.zeros(N, np.float32)

    def kernel() -> float32[3, N]:
        a: float32[N] = zeros
        b: float32[N] = minus
        c: float32[N] = zeros
        z: float32[3, N]
        for i in range(N):
            z[0, i] = a[i]
            z[1, i] = b[i]
            z[2, i] = c[i]
        return z

    s = allo.customize(kernel)
    assert str(s.module).count("memref.global") == 2
    expected = np.stack([zeros, minus, zeros])
    np.testing.assert_array_equal(s.build()().view(np.uint32), expected.view(np.uint32))
