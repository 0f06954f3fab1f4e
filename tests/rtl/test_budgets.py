"""Limits on lookup tables: met with the fewest blocks, the same bits, and refused with the largest users."""

import itertools
import random

import numpy as np
import pytest

import allo
from allo.backend.rtl.budgets.knapsack import Kind, Knapsack
from allo.errors import CapacityError, OptionError
from allo.ir.types import float32, int8, int16

SETTINGS = {"device": "ecp5", "clock_mhz": 80}


def pairs(a: float32[32], b: float32[32], c: float32[32], d: float32[32], y: float32[32]):
    for i in range(32):
        y[i] = (a[i] + b[i]) * (c[i] + d[i]) + (a[i] - d[i]) * 3.5


def pipelined(kernel):
    s = allo.customize(kernel)
    s.pipeline("i")
    return s


def resources(s, **limits):
    return s.estimate(**SETTINGS, **limits).resources


# --- the choice ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_choices_are_the_best_of_all(seed):
    rng = random.Random(seed)
    kinds = [
        Kind(rng.randint(1, 4), rng.randint(1, 5), rng.randint(-5, 20))
        for _ in range(rng.randint(1, 4))
    ]
    room = rng.randint(0, 30)
    best = [0] * (room + 1)
    for counts in itertools.product(*(range(kind.count + 1) for kind in kinds)):
        blocks = sum(n * kind.blocks for n, kind in zip(counts, kinds, strict=True))
        saves = sum(n * kind.saves for n, kind in zip(counts, kinds, strict=True))
        for space in range(blocks, room + 1):
            best[space] = max(best[space], saves)
    found = Knapsack(kinds, room)
    for space in range(room + 1):
        choice = found.choice(space)
        assert all(0 <= n <= kind.count for n, kind in zip(choice, kinds, strict=True))
        assert sum(n * kind.blocks for n, kind in zip(choice, kinds, strict=True)) <= space
        assert sum(n * kind.saves for n, kind in zip(choice, kinds, strict=True)) == best[space]
        assert found.fewest(best[space]) == best.index(best[space])
    assert found.fewest(best[-1] + 1) is None


# --- designs that fit ---------------------------------------------------------------------------------------


def test_a_design_that_fits_stays_as_it_is():
    s = pipelined(pairs)
    free = resources(s)
    assert resources(s, max_lut=free["lut"]) == free


@pytest.mark.parametrize("adders", [1, 2, 4])
def test_no_more_adders_move_to_blocks_than_need_be(adders):
    s = pipelined(pairs)
    free, all_moved = resources(s), resources(s, max_lut=2944)
    one = (free["lut"] - all_moved["lut"]) // 4
    found = resources(s, max_lut=free["lut"] - one * adders + one // 2)
    assert found["lut"] <= free["lut"] - one * adders + one // 2
    assert found["dsp"] == free["dsp"] + 2 * adders


def test_moved_units_give_the_same_bits():
    s = pipelined(pairs)
    most = resources(s)["lut"] - 100
    module = s.build(target="verilog", simulator="jit", max_lut=most, **SETTINGS)
    assert module.report.resources["lut"] <= most
    assert "fadd_f32_dsp" in module.report.functions[0].operators
    rng = np.random.default_rng(1)
    a, b, c, d = (rng.integers(0, 1 << 32, 32, np.uint32).view(np.float32) for _ in range(4))
    found, expected = np.zeros(32, np.float32), np.zeros(32, np.float32)
    module(a, b, c, d, found)
    s.build()(a, b, c, d, expected)
    np.testing.assert_array_equal(found, expected)


def small(a: int8[32], b: int16[32], x: float32[32], y: float32[32], p: int16[32], z: float32[32]):
    for i in range(32):
        p[i] = a[i] * b[i]
        z[i] = x[i] + y[i]


def test_both_limits_are_met_by_one_choice():
    """What the limit on blocks alone moves is chosen anew where the tables do not fit."""
    s = pipelined(small)
    free = resources(s)
    blocks = resources(s, max_dsp=free["dsp"])["dsp"]
    assert blocks == free["dsp"] == 1
    few = resources(s, max_dsp=0)
    assert few.get("dsp", 0) == 0 and few["lut"] > free["lut"]
    both = resources(s, max_dsp=2, max_lut=free["lut"])
    assert both["lut"] <= free["lut"] and both["dsp"] <= 2
    with pytest.raises(CapacityError, match=r"within max_dsp=0\. Its largest users are "):
        resources(s, max_dsp=0, max_lut=few["lut"] - 1)


def total(x: float32[64]) -> float32:
    found: float32 = 0
    for i in range(64):
        found += x[i]
    return found


def test_units_for_which_a_loop_waits_stay():
    s = pipelined(total)
    report = s.estimate(**SETTINGS)
    assert "fadd_f32_fast" in report.functions[0].operators
    with pytest.raises(CapacityError, match=r"1 fadd_f32_fast \(test_budgets\.py:\d+:\d+\): "):
        s.estimate(**SETTINGS, max_lut=report.resources["lut"] - 1)


def test_what_the_schedule_binds_stays():
    s = pipelined(pairs)
    s.bind("fadd", "fabric")
    s.bind("fmul", "dsp")
    with pytest.raises(CapacityError):
        resources(s, max_lut=resources(s)["lut"] - 1)


# --- designs that do not ------------------------------------------------------------------------------------


def test_a_refusal_names_the_three_largest_users():
    with pytest.raises(
        CapacityError,
        match=r"test_budgets\.py:\d+:5: The design takes about [\d,]+ lookup tables, [\d,]+ more than "
        r"max_lut=1000 allows, and 16 multiplier blocks; no other choice of the units made of blocks was "
        r"found to meet it\. Its largest users are 4 fadd_f32_dsp \(test_budgets\.py:\d+:\d+, \d+:\d+, "
        r"\d+:\d+ and 1 more\): [\d,]+, 2 fmul_f32 \(test_budgets\.py:\d+:\d+, \d+:\d+\): [\d,]+, the logic "
        r"of loop S_i_0\.i \(test_budgets\.py:\d+:5\): \d+\.(?s:.)*help: allow more of them, or let "
        r"fewer units work at once",
    ):
        pipelined(pairs).build(target="verilog", simulator="jit", max_lut=1000, **SETTINGS)


def test_the_logic_of_interfaces_counts():
    s = pipelined(total)
    alone = resources(s)["lut"]
    with pytest.raises(CapacityError, match=rf"more than max_lut={alone} allows"):
        s.build(target="verilog", interface="m_axi", max_lut=alone, **SETTINGS)


def test_a_limit_is_a_number():
    with pytest.raises(
        OptionError, match="max_lut of target systemverilog takes an integer from 0"
    ):
        resources(pipelined(pairs), max_lut=-1)
