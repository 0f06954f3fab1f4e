"""What iterations of a tile share: operations on which a loop has no say."""

from __future__ import annotations

import allo
from allo.explore.model.read import read_kernel
from allo.explore.model.rows import Limits, space_of
from allo.explore.model.units import Units
from allo.ir.types import float32


def product(A: float32[8, 8], B: float32[8, 8], C: float32[8, 8]):
    for i, j, k in allo.grid(8, 8, 8):
        C[i, j] += 2.5 * A[i, k] * B[k, j]


def test_a_factor_of_a_row_is_one_product_for_all_its_columns() -> None:
    (nest,) = read_kernel(allo.customize(product)).nests
    (products,) = (found for unit, found in nest.shares.items() if unit[0] == "arith.mulf")
    assert {tuple(sorted(loops)): n for loops, n in products.items()} == {
        ("i", "k"): 1,
        ("i", "j", "k"): 1,
    }


def test_the_model_counts_as_many_units_as_hardware_has() -> None:
    """Of 2 x 8 elements 16 products and 2 with 2.5, and not 32, as in the report of the design."""
    s = allo.customize(product)
    kernel = read_kernel(s)
    units = Units("xcup", 300.0, "keep")
    space = space_of(kernel, units, Limits(None, None, None), reassociate=True)
    at_once = [row for row in space.rows[0] if row.interval == row.expected == 1]
    for row in at_once:
        i, j, k = (row.factors[name] for name in "ijk")
        taken = next(n for unit, n in row.units.items() if unit[0] == "arith.mulf")
        assert taken == i * j * k + i * k, "not two for each element"
    assert any(row.factors["j"] > 1 for row in at_once)
    s.reorder("k", "i", "j")
    s.split("i", 2)
    s.pipeline("i.outer")
    s.partition(s.B, dim=2)
    s.partition(s.C, dim=2)
    for array in (s.A, s.C):
        s.partition(array, allo.Partition.Cyclic, 1, 2)
    assert s.estimate(warnings=False, clock_mhz=300).resources["dsp"] == 2 * 18


def after_a_branch(A: float32[8, 8], B: float32[8, 8]):
    for i, j in allo.grid(8, 8):
        if j > i:
            B[i, j] = A[i, 0] * 2.5


def test_what_stands_in_a_branch_is_shared_by_none() -> None:
    (nest,) = read_kernel(allo.customize(after_a_branch)).nests
    ((loops, count),) = next(iter(nest.shares.values())).items()
    assert (loops, count) == (frozenset("ij"), 1)
