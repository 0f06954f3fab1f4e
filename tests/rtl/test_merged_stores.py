"""Several writes of one element in an iteration take one port of its memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import allo
from allo.ir.types import int32

N = 16


def twice(A: int32[N], B: int32[N]):
    for i in range(N):
        B[i] = A[i] + 1
        B[i] += B[i] * 3
        B[i] //= 2


def three_branches(A: int32[N], B: int32[N]):
    for i in range(N):
        if A[i] > 0:
            B[i] = A[i]
        elif A[i] < -5:
            B[i] = 3
        else:
            B[i] = 7


def two_branches_of_three(A: int32[N], B: int32[N]):
    for i in range(N):
        if A[i] > 0:
            B[i] = A[i]
        elif A[i] < -5:
            B[i] = 3
        if A[i] == 4 or i == 2:
            B[i] = i


def over_a_default(A: int32[N], B: int32[N]):
    for i in range(N):
        B[i] = A[i]
        if A[i] > 0:
            B[i] = 5
        if A[i] > 6:
            B[i] += 5


def read_in_between(A: int32[N], B: int32[N]):
    for i in range(N - 1):
        k: int32 = A[i] & 15
        B[k] = A[i]
        if A[i] > 2:
            B[k] = B[i + 1]
        B[i] = B[i + 1]
        B[k] = 5 * i


def written_elsewhere_in_between(A: int32[N], B: int32[N]):
    for i in range(N):
        k: int32 = A[i] & 15
        if A[i] > -4:
            B[i] = 1
        B[k] = 2
        if A[i] > 4:
            B[i] = 3


@pytest.mark.parametrize(
    ("kernel", "interval"),
    [
        (twice, 1),
        (three_branches, 1),
        (two_branches_of_three, 1),
        (over_a_default, 1),
        (read_in_between, None),
        (written_elsewhere_in_between, 2),
    ],
)
def test_writes_of_one_element_are_one(kernel: Callable[..., None], interval: int | None):
    s = allo.customize(kernel)
    s.pipeline("i")
    cpu, rtl = s.build(), s.build(target="verilog", simulator="jit")
    if interval is not None:
        assert [loop.ii for loop in rtl.report.functions[-1].loops] == [interval]
    rng = np.random.default_rng(3)
    for _ in range(8):
        A, B = rng.integers(-10, 10, (2, N)).astype(np.int32)
        expected = B.copy()
        cpu(A, expected)
        rtl(A, B)
        np.testing.assert_array_equal(B, expected)
