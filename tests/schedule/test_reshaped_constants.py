"""``reshape`` of a constant array: elements of any type keep their bits."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.dialects.boundary.storage import natural_dtype
from allo.ir.types import Int, UInt, bfloat16, bool, float16, float32, float64, int8, int32

HUGE = np.array([-(2**99), 2**99 - 1, 3, -1], object)
BITS = np.array([True, False, False, True])
SPECIAL = np.array([np.inf, -np.inf, np.nan, -0.0])
CASES = {
    "int8": (int8, np.array([-128, 127, 3, -1])),
    "an odd width": (Int(13), np.array([-4096, 4095, 3, -1])),
    "past 64 bits": (Int(100), HUGE),
    "unsigned": (UInt(7), np.array([127, 64, 0, 1])),
    "one bit": (bool, BITS),
    "float16": (float16, SPECIAL),
    "bfloat16": (bfloat16, SPECIAL),
    "float32": (float32, SPECIAL),
    "float64": (float64, np.array([1e300, 0.1, -np.inf, 5e-324])),
    "all the same": (int32, np.array([7, 7, 7, 7])),
}


@pytest.mark.parametrize("name", CASES)
def test_elements_keep_their_bits(name: str) -> None:
    """Integers of other widths than NumPy's ended in a TypeError, infinities in text that does not parse."""
    T, numbers = CASES[name]

    def kernel(A: T[4]):
        table: T[4] = numbers
        for i in range(4):
            A[i] = table[i]

    plain, shaped = allo.customize(kernel), allo.customize(kernel)
    shaped.reshape(shaped.table, (2, 2))
    assert "memref<2x2x" in str(shaped.module)
    for schedule in (plain, shaped):
        found = np.zeros(4, object if T.name == "i100" else natural_dtype(T))
        schedule.build()(found)
        assert [str(v) for v in found.tolist()] == [str(v) for v in numbers.tolist()]
