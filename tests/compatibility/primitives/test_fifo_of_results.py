"""``to`` from a function that makes, fills and returns the array, as published programs write it."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import IllegalTransformError
from allo.ir.types import int32
from tests.compatibility.runs import check_results, numbers

N = 5


def adds(A: int32[N, N]) -> int32[N, N]:
    B: int32[N, N] = 0
    for i, j in allo.grid(N, N):
        B[i, j] = A[i, j] + 1
    return B


def counts(A: int32[N, N]) -> int32[N, N]:
    B: int32[N, N] = 3
    for i, j in allo.grid(N, N):
        B[i, j] += A[i, j]
    return B


def fills(A: int32[N, N], B: int32[N, N]):
    B[:, :] = 0
    for i, j in allo.grid(N, N):
        B[i, j] = A[i, j] + 1


def halves(A: int32[N, N]) -> int32[N, N]:
    B: int32[N, N] = 0
    for i, j in allo.grid(2, N):
        B[i, j] = A[i, j]
    return B


def doubles(B: int32[N, N]) -> int32[N, N]:
    C: int32[N, N] = 0
    for i, j in allo.grid(N, N):
        C[i, j] = B[i, j] * 2
    return C


def returned(A: int32[N, N]) -> int32[N, N]:
    B = adds(A)
    C = doubles(B)
    return C


def accumulated(A: int32[N, N]) -> int32[N, N]:
    B: int32[N, N] = counts(A)
    return doubles(B)


def passed(A: int32[N, N]) -> int32[N, N]:
    B: int32[N, N]
    fills(A, B)
    return doubles(B)


def half(A: int32[N, N]) -> int32[N, N]:
    B = halves(A)
    return doubles(B)


@pytest.mark.parametrize(("kernel", "added"), [(returned, 1), (accumulated, 3), (passed, 1)])
def test_a_fill_that_is_written_over_goes(kernel, added):
    s = allo.customize(kernel)
    s.to(s.B, "doubles", depth=4)
    code = s.build(target="vhls").hls_code
    assert "#pragma HLS stream variable=B depth=4" in code and ".read()" in code
    A = numbers(N, N)
    check_results(s, [A], (A + added) * 2)


def test_a_fill_that_is_read_is_a_second_write():
    s = allo.customize(half)
    with pytest.raises(IllegalTransformError, match="the order of its elements is not known"):
        s.to(s.B, "doubles")
    A = numbers(N, N)
    check_results(s, [A], np.where(np.arange(N)[:, None] < 2, A * 2, 0))
