"""Parts of one array for several parameters: C++ has no copies that would hide what is written."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import allo
from allo.ir.types import int32


def moved(a: int32[3, 2], b: int32[3, 2]) -> int32:
    a[0:2, :] = b[1:3, :]
    b[0, 1] += a[0, 0]
    return a[0, 1] * 100 + b[0, 0]


def one_part_twice(A: int32[4, 5]):
    A[3, 4] = moved(A[0:3, 1:3], A[0:3, 1:3])


def parts_that_overlap(A: int32[4, 5]):
    A[0, 0] = moved(A[0:3, 1:3], A[1:4, 2:4])


def columns(A: int32[4, 5]):
    def turned(a: int32[4], b: int32[4]):
        for i in range(4):
            a[i] = b[3 - i] + 1

    for k in range(2):
        turned(A[:, k + 1], A[:, 2])


def one_row_of_a_block(A: int32[4, 5]):
    def next_ones(a: int32[1, 3], b: int32[1, 3]):
        a[0, 1:3] = b[0, 0:2] + 5

    for k in range(2):
        next_ones(A[k : k + 1, 1:4], A[k : k + 1, 1:4])


def a_part_of_what_is_passed(A: int32[4, 5]):
    def below(a: int32[3, 2], w: int32[4, 5]):
        w[1, 1] = a[0, 0] + 7
        a[2, 1] = w[1, 1] * 2

    below(A[1:4, 1:3], A)


def both_forms(A: int32[4, 5]):
    B: int32[3, 2] = 4
    A[3, 4] = moved(A[0:3, 1:3], B)
    A[3, 3] = moved(A[0:3, 1:3], A[0:3, 2:4])


KERNELS = [
    one_part_twice,
    parts_that_overlap,
    one_row_of_a_block,
    columns,
    a_part_of_what_is_passed,
    both_forms,
]


@pytest.mark.parametrize("check_bounds", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_as_the_meaning_says(kernel: Callable[..., None], check_bounds: bool) -> None:
    given = np.arange(20, dtype=np.int32).reshape(4, 5)
    expected = given.copy()
    allo.interpret(kernel)(expected)
    for options in (
        {},
        {"target": "vhls", "mode": "csim"},
        {"target": "verilog", "simulator": "jit"},
    ):
        got = given.copy()
        allo.customize(kernel).build(**options, check_bounds=check_bounds)(got)
        np.testing.assert_array_equal(got, expected)


def test_parts_of_two_arrays_are_passed_as_before() -> None:
    def kernel(A: int32[4, 5], B: int32[4, 5]):
        A[3, 4] = moved(A[0:3, 1:3], B[0:3, 1:3])

    text = str(allo.customize(kernel).build(target="vhls"))
    assert "_view" in text
