"""Bit slices whose width is a run-time value."""

import numpy as np
import pytest

import allo
from allo.errors import DTypeWarning, UnsupportedSyntaxError
from allo.ir.types import int32, uint8


def fields(x: int32, lo: int32, hi: int32, A: uint8[2], n: int32) -> int32:
    picked: int32 = x[lo:hi]
    A[0][0:n] = 0xFF
    placed: int32 = 0
    placed[lo:hi] = x
    for i in range(4):
        placed += x[0:i]
    return picked + placed


def model(x, lo, hi, n):
    word, mask = x & 0xFFFFFFFF, (1 << (hi - lo)) - 1
    total = ((word >> lo) & mask) + ((word & mask) << lo)
    total += sum(word & ((1 << i) - 1) for i in range(4))
    return np.int64(total).astype(np.int32), (1 << n) - 1


def customized():
    with pytest.warns(
        DTypeWarning, match=r"bit slice lo:hi is not constant, so its bits are a ui32"
    ):
        return allo.customize(fields)


TARGETS = [
    {},
    {"target": "vhls", "mode": "csim"},
    {"target": "verilog", "simulator": "jit"},
]


@pytest.mark.parametrize("options", TARGETS, ids=["cpu", "csim", "rtl"])
def test_run_time_widths_read_and_write(options):
    module = customized().build(**options)
    rng = np.random.default_rng(5)
    cases = [(-5, 0, 32, 8), (99, 3, 3, 0), (-1, 31, 32, 7)]
    for _ in range(5):
        lo, hi = sorted(rng.integers(0, 33, 2).tolist())
        if lo < 32:
            cases.append((int(rng.integers(-(2**31), 2**31)), lo, hi, int(rng.integers(0, 9))))
    for x, lo, hi, n in cases:
        array = np.zeros(2, np.uint8)
        result = module(x, lo, hi, array, n)
        assert (result, array[0]) == model(x, lo, hi, n)


def test_a_bit_slice_has_no_step():
    def stepped(x: int32, n: int32) -> int32:
        return x[0:n:2]

    with pytest.raises(UnsupportedSyntaxError, match="A bit slice has no step"):
        allo.customize(stepped)
