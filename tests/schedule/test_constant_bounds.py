"""constant_multiply: bounds that are powers of two are the upper bits, for all values of few bits."""

import numpy as np
import pytest

import allo
from allo.ir.types import Int, int8
from allo.schedule.constants.bounds import Bounds
from tests.schedule import sums

SUMS = np.arange(-64, 63)
PARTS = np.stack([SUMS // 2, SUMS - SUMS // 2], axis=1).astype(np.int8)
BOUNDS = [-65, -64, -33, -32, -17, -16, -15, -8, -1, 0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32]
COUNT = len(BOUNDS)


def bounded(x: Int(6)[127, 2], y: int8[127, COUNT, 8]):
    W: Int(2)[2] = [1, 1]
    B: int8[COUNT] = BOUNDS
    for t in range(127):
        for k in range(COUNT):
            c: int8 = 0
            for i in range(2):
                c += x[t, i] * W[i]
            y[t, k, 0] = 1 if c < B[k] else 0
            y[t, k, 1] = 1 if c <= B[k] else 0
            y[t, k, 2] = 1 if c > B[k] else 0
            y[t, k, 3] = 1 if B[k] <= c else 0
            y[t, k, 4] = min(c, B[k])
            y[t, k, 5] = max(B[k], c)
            y[t, k, 6] = max(min(c >> 1, B[k]), 0)
            y[t, k, 7] = 1 if B[k] > c else 0


def wanted():
    c, b = SUMS[:, None], np.array(BOUNDS)[None, :]
    both = np.maximum(np.minimum(c >> 1, b), 0)
    tests = [c < b, c <= b, c > b, b <= c, np.minimum(c, b), np.maximum(b, c), both, b > c]
    return np.stack([np.broadcast_to(one, both.shape) for one in tests], axis=2).astype(np.int8)


def scheduled():
    s = allo.customize(bounded)
    s.constant_multiply("k")
    return s


@pytest.mark.parametrize("build", ["cpu", "jit"])
def test_every_value_and_bound(build):
    s = scheduled()
    given = [PARTS, np.zeros((127, COUNT, 8), np.int8)]
    np.testing.assert_array_equal(sums.run(s, given, build)[-1], wanted())
    text = str(s.module)
    assert "arith.minsi" in text and text.count("arith.minsi") < 2 * COUNT  # others stay


@pytest.mark.parametrize("fault", ["place", "sign"])
def test_a_bit_that_is_not_looked_at_is_seen(monkeypatch, fault):
    real = Bounds._bits

    def shifted(self, value, low, count):
        if fault == "place" and count > 1:
            return real(self, value, low - 1 if low else 1, count)
        return real(self, value, low - (fault == "sign" and count == 1), count)

    monkeypatch.setattr(Bounds, "_bits", shifted)
    given = [PARTS, np.zeros((127, COUNT, 8), np.int8)]
    assert (sums.run(scheduled(), given, "cpu")[-1] != wanted()).any()
