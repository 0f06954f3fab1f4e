"""The speed for a share of a device: by its own figures what an outside recount of 1bf4d97 found."""

from __future__ import annotations

import pytest

from benchmarks.polybench_shares import STREAM_HLS, Taken, gain, mean, microseconds

RECOUNTED = {
    "gemm": (
        (97_236, 82_374, 220),  # figure elsewhere
        (8_518, 932_721, 2_550),  # figure elsewhere
        (6_192, 1_242_088, 3_520),  # figure elsewhere
    ),
    "two_mm": (
        (137_547, 94_864, 220),  # figure elsewhere
        (11_865, 1_017_912, 2_560),  # figure elsewhere
        (8_511, 1_302_492, 3_600),  # figure elsewhere
    ),
    "three_mm": (
        (215_747, 90_671, 216),  # figure elsewhere
        (18_731, 949_401, 2_560),  # figure elsewhere
        (13_637, 1_237_973, 3_500),  # figure elsewhere
    ),
    "atax": (
        (3_356, 70_468, 200),  # figure elsewhere
        (379, 976_781, 2_460),  # figure elsewhere
        (322, 1_270_769, 3_198),  # figure elsewhere
    ),
    "bicg": (
        (3_160, 69_528, 208),  # figure elsewhere
        (336, 820_339, 2_460),  # figure elsewhere
        (322, 1_270_770, 3_198),  # figure elsewhere
    ),
    "mvt": (
        (3_238, 67_065, 200),  # figure elsewhere
        (300, 851_782, 2_560),  # figure elsewhere
        (250, 1_065_996, 3_200),  # figure elsewhere
    ),
    "gesummv": (
        (1_295, 81_752, 200),  # figure elsewhere
        (165, 860_529, 2_500),  # figure elsewhere
        (143, 1_218_118, 3_600),  # figure elsewhere
    ),
}
"""Cycles, lookup tables and DSPs of our designs at 1bf4d97, which others recounted."""


@pytest.mark.parametrize(("which", "found"), [(0, 1.13), (1, 0.92), (2, 0.90)])
def test_in_cycles_it_is_what_an_outside_recount_found(which: int, found: float) -> None:
    gains = []
    for name, peers in STREAM_HLS.items():
        cycles, lut, dsp = RECOUNTED[name][which]
        gains.append(gain(Taken(microseconds(cycles, 300.0, 300.0), lut, dsp), peers[which]))
    assert mean(gains) == pytest.approx(found, abs=0.006)


def test_a_clock_above_the_one_asked_for_does_not_count() -> None:
    assert microseconds(300, 421.0, 300.0) == 1.0
    assert microseconds(300, 250.0, 300.0) == 1.2


def test_the_larger_share_counts_and_half_the_share_is_twice_the_gain() -> None:
    lut, dsp = Taken(1.0, 130_368, 0), Taken(1.0, 0, 1_804.8)
    assert (lut.share, dsp.share) == (pytest.approx(0.1), pytest.approx(0.2))
    assert gain(lut, dsp) == pytest.approx(2.0)
