"""The balance of layers: it fits the limits and the banks, comes near the bound, and counts calls once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import lcm
from typing import Any

import pytest

import allo
from allo import Partition
from allo.backend.devices import DEFAULT_DEVICE, families
from allo.designs.networks.chains import THREE_PRODUCTS
from allo.explore.model.blocks import Blocks
from allo.explore.model.kernel import Array
from allo.explore.model.rows import Limits, space_of
from allo.explore.model.units import Units
from allo.explore.networks import NOTHING, arranged, balance, choice_of_layers, has_many
from allo.explore.networks.balance import balanced
from allo.explore.networks.tables import divided
from allo.explore.solve import Corrections, Problem, least_banks
from allo.ir.types import float32, int16, int32


def scores(A: float32[16, 16], B: float32[16, 16], C: float32[16, 16]) -> float32[16, 16]:
    S: float32[16, 16] = 0.0
    E: float32[16, 16]
    T: float32[16] = 0.0
    P: float32[16, 16]
    Y: float32[16, 16] = 0.0
    for i, j in allo.grid(16, 16, name="product"):
        for k in allo.reduction(16):
            S[i, j] += A[i, k] * B[k, j]
    for i1, j1 in allo.grid(16, 16, name="exponentials"):
        E[i1, j1] = allo.exp(S[i1, j1])
    for i2, j2 in allo.grid(16, 16, name="total"):
        T[i2] += E[i2, j2]
    for i3, j3 in allo.grid(16, 16, name="quotients"):
        P[i3, j3] = E[i3, j3] / T[i3]
    for i4, j4 in allo.grid(16, 16, name="mixed"):
        for k4 in allo.reduction(16):
            Y[i4, j4] += P[i4, k4] * C[k4, j4]
    return Y


def scaled(X: float32[16, 16], by: float32) -> float32[16, 16]:
    Y: float32[16, 16]
    for i, j in allo.grid(16, 16):
        Y[i, j] = X[i, j] * by
    return Y


def twice(A: float32[16, 16], B: float32[16, 16]) -> float32[16, 16]:
    C = scaled(A, 2.0)
    D = scaled(B, 3.0)
    Y: float32[16, 16]
    for i, j in allo.grid(16, 16):
        Y[i, j] = C[i, j] + D[i, j]
    return Y


@cache
def problem(kernel: object, dsp: int, bram: int | None = None) -> Problem:
    found = arranged(allo.customize(kernel))  # type: ignore[arg-type]
    units = Units(DEFAULT_DEVICE, 300.0, "flush")
    limits = Limits(dsp, 1_000_000, bram)
    space = space_of(found.kernel, units, limits, reassociate=True)
    return Problem(found.kernel, space, units, limits)


def test_functions_take_the_units_of_their_arithmetic() -> None:
    nest = problem(scores, 64).kernel.nests[1]
    names = {name for name, _, _ in nest.work}
    assert names == {"arith.muli"}
    assert 1 < len(nest.levels) <= sum(nest.work.values())


def test_a_balance_fits_the_limits_and_all_banks_and_is_near_the_bound() -> None:
    given = problem(scores, 64)
    assert has_many(given)
    choice, bound = choice_of_layers(given, Corrections(), 1 << 60, 5.0)
    assert choice is not None
    assert bound <= choice.cycles <= 1.4 * bound
    assert choice.dsp <= 64
    for row in choice.rows.values():
        for dimension, need in row.needs.items():
            assert choice.banks[dimension] == lcm(choice.banks[dimension], need)
    assert len(choice.rows) == 5


def test_the_limits_are_divided_between_operations() -> None:
    given = problem(scores, 64)
    division = divided(given, Corrections(), 10.0)
    assert division is not None
    taken = sum(given.units.cost(unit).dsp * count for unit, count in division.pool.items())
    assert 0.75 * 64 <= taken <= 64
    assert all(count for unit, count in division.pool.items() if unit[0] == "arith.muli")


def test_the_same_choice_is_not_made_again() -> None:
    given = problem(scores, 64)
    choice, _ = choice_of_layers(given, Corrections(), 1 << 60, 5.0)
    assert choice is not None
    assert choice_of_layers(given, Corrections(done=[choice]), 1 << 59, 5.0)[0] is None
    assert choice_of_layers(given, Corrections(), choice.cycles, 5.0)[0] is None


def multiplied(X: int16[64, 96], by: int16[96]) -> int32[64, 96]:
    Y: int32[64, 96]
    for i, j in allo.grid(64, 96):
        Y[i, j] = X[i, j] * by[j]
    return Y


def layers(X: int16[64, 96], a: int16[96], b: int16[96]) -> int32[64, 96]:
    """One function for two calls, whose results are two arrays, and one array for the narrow sums."""
    A = multiplied(X, a)
    B = multiplied(X, b)
    S: int16[64, 96]
    Y: int32[64, 96]
    for i0, j0 in allo.grid(64, 96, name="sums"):
        S[i0, j0] = (A[i0, j0] + B[i0, j0]) >> 16
    for i1, j1 in allo.grid(64, 96, name="next"):
        Y[i1, j1] = S[i1, j1] * S[i1, j1]
    return Y


def test_memory_of_the_device_limits_the_banks() -> None:
    given = problem(THREE_PRODUCTS.kernel, 256)
    plain = Blocks(DEFAULT_DEVICE).of_local(given.kernel, {})
    wide, narrow = balanced_cycles(given, None), balanced_cycles(given, plain)
    assert wide < narrow


@pytest.mark.parametrize("banks", [1, 4, 32])
def test_blocks_of_memory_are_those_of_the_report(banks: int) -> None:
    s = allo.customize(layers)
    kernel = arranged(s).kernel
    needs = {("layers:A", 1): banks, ("layers:S", 1): banks}
    assert needs.keys() <= {(array, 1) for array in kernel.arrays}
    for array in ("A", "S"):
        s.partition(getattr(s, array), Partition.Cyclic, 2, banks)
    found = s.estimate(device=DEFAULT_DEVICE, warnings=False).resources.get("bram", 0)
    assert Blocks(DEFAULT_DEVICE).of_local(kernel, needs) == found


@pytest.mark.parametrize("device", families())
def test_every_family_says_which_arrays_are_blocks(device: str) -> None:
    array = Array("f:A", "A", (4096,), 31, True, {})
    deep, few = (Blocks(device).of(replace(array, shape=(words,)), {}) for words in (4096, 2))
    assert few == 0 < deep


def balanced_cycles(given: Problem, bram: int | None) -> int:
    blocks = Blocks(given.units.device)
    rows = balanced(
        given.kernel, given.space, given.units, replace(given.limits, bram=bram),
        blocks=blocks, ratio=1.0, pool=None, until=1e9,
    )  # fmt: skip
    assert rows is not None
    if bram is not None:
        assert blocks.of_local(given.kernel, least_banks(rows)) <= bram
    return sum(row.cycles for row in rows.values())


@pytest.mark.parametrize("dataflow", [False, True])
def test_calls_that_share_a_function_are_counted_once_each(dataflow: bool) -> None:
    given = problem(twice, 64)
    choice = given.solve(Corrections(), dataflow=dataflow, seconds=10.0)
    assert choice is not None
    each = {n: row.cycles for n, row in choice.rows.items()}
    first, last = sorted(each)
    assert choice.cycles == 2 * each[first] + each[last]  # one function: its result is one array


def test_lookup_tables_beside_the_units_count_within_the_limit() -> None:
    given = problem(scores, 512)
    free, _ = choice_of_layers(given, Corrections(), NOTHING, 5.0)
    assert free is not None
    few = replace(given, limits=replace(given.limits, lut=free.lut * 3 // 4))
    choice, _ = choice_of_layers(few, Corrections(), NOTHING, 5.0)
    assert choice is not None and choice.lut <= few.limits.lut


def test_a_choice_that_did_not_fit_is_followed_by_a_smaller_one() -> None:
    given = problem(scores, 512)
    choice, _ = choice_of_layers(given, Corrections(), NOTHING, 5.0)
    assert choice is not None
    learnt = Corrections(done=[choice])
    other, _ = choice_of_layers(given, learnt, NOTHING, 5.0)
    assert other is not None and other.lut < choice.lut and learnt.lut > 1.0
    assert choice_of_layers(given, Corrections(done=[choice]), other.cycles + 1, 5.0)[0] is None
    closer = Corrections(done=[other])
    choice_of_layers(given, closer, NOTHING, 5.0)
    assert closer.lut == pytest.approx(1.02)


@pytest.mark.parametrize(("bound", "begun"), [(1, 4), (1 << 30, 2)])
def test_a_balance_far_from_the_bound_is_begun_with_fewer_units(
    monkeypatch: pytest.MonkeyPatch, bound: int, begun: int
) -> None:
    given, starts = problem(scores, 512), []
    division = divided(given, Corrections(), 5.0)
    assert division is not None
    whole = balance.Balance

    def kept(*parts: Any) -> balance.Balance:
        starts.append(parts[-1] if len(parts) == 8 else None)
        return whole(*parts)

    monkeypatch.setattr(balance, "Balance", kept)
    balanced(
        given.kernel, given.space, given.units, given.limits, blocks=Blocks(given.units.device),
        ratio=1.0, pool=division.pool, until=1e9, bound=bound,
    )  # fmt: skip
    assert len(starts) == 2 * begun
    taken = [sum(pool.values()) for pool in starts if pool]
    assert len(taken) == begun - 1 and taken == sorted(set(taken), reverse=True)
