"""Tables of fixed-point numbers in csim: integers behind them there, numbers in the text for the vendor."""

import numpy as np
import pytest

import allo
from allo.ir.types import Fixed, Stateful, UFixed, int32

N = 16
NARROW, UNSIGNED, WIDE = Fixed(12, 10), UFixed(40, 40), Fixed(60, 7)
VALUES = (np.arange(N) * 37 % 64 - 32) / 32
PARTS = (np.arange(N) * 41 % 64) / 64
LARGE = np.array([(k * 2654435761 % 2**50 - 2**49) / 128 for k in range(N)])


def last(T: NARROW[N], k: int32) -> NARROW:
    return T[N - 1 - k]


def look(k: int32, out: NARROW[3], parts: UNSIGNED[2], large: WIDE[2]):
    t: NARROW[N] = VALUES
    u: UNSIGNED[N] = PARTS
    w: WIDE[N] = LARGE
    kept: NARROW[N] @ Stateful = VALUES
    out[0] = t[k]
    out[1] = last(t, k)
    kept[k] = kept[k] + t[0]
    out[2] = kept[k]
    parts[0] = u[k]
    parts[1] = u[N - 1 - k]
    large[0] = w[k]
    large[1] = w[N - 1 - k]


@pytest.mark.parametrize("vendor", ["vhls", "catapult"])
def test_tables_give_their_numbers_in_csim(vendor):
    module = allo.customize(look).build(target=vendor, mode="csim")
    state = VALUES.copy()
    for k in (0, 5, 5, 11, N - 1):
        out, parts, large = np.zeros(3), np.zeros(2), np.zeros(2)
        module(k, out, parts, large)
        state[k] += VALUES[0]
        np.testing.assert_array_equal(out, [VALUES[k], VALUES[-1 - k], (state[k] + 2) % 4 - 2])
        np.testing.assert_array_equal(parts, [PARTS[k], PARTS[-1 - k]])
        np.testing.assert_array_equal(large, [LARGE[k], LARGE[-1 - k]])


def test_only_csim_has_integers_for_them():
    """g++ takes four times as long for a table of ap_fixed."""

    def rom(k: int32) -> NARROW:
        t: NARROW[N] = VALUES
        return t[k]

    module = allo.customize(rom).build(target="vhls", mode="csim")
    assert "static const ap_fixed<12, 2> t[16] = {-1.0, 0.15625," in module.hls_code
    compiled = module.csim_code().kernel
    assert "static const ap_int<12> t[16] = {(-1024), 160," in compiled
