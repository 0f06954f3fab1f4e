"""Splits that do not divide, under pipelined and unrolled loops: the last tile does no more than it has."""

import numpy as np
import pytest

import allo
from allo.errors import UnsupportedOpError
from allo.ir.types import index, int32


def scaled(A: int32[10], B: int32[10]):
    for i in range(10):
        B[i] = A[i] * 3 + B[i]


def sums(A: int32[5, 10], B: int32[5]):
    for i in range(5):
        for k in allo.reduction(10):
            B[i] += A[i, k]


def windows(A: int32[12], B: int32[10]):
    for i in range(10):
        v: int32 = 0
        for r in range(3):
            v += A[i + r]
        B[i] = v


def _wanted(kernel, A, B):
    if kernel is scaled:
        return A * 3 + B
    if kernel is sums:
        return B + A.sum(1)
    return A[:10] + A[1:11] + A[2:]


CASES = [
    (scaled, ("split", "i", 4), ("pipeline", "i.outer")),
    (scaled, ("split", "i", 4), ("pipeline", "i.inner")),
    (scaled, ("split", "i", 4), ("unroll", "i.inner")),
    (scaled, ("split", "i", 3), ("unroll", "i.inner", 2)),
    (scaled, ("split", "i", 4), ("split", "i.outer", 2), ("pipeline", "i.outer.outer")),
    (sums, ("split", "k", 4), ("pipeline", "i")),
    (sums, ("split", "i", 2), ("pipeline", "i.outer")),
    (sums, ("split", "k", 3), ("reorder", "k.outer", "i"), ("pipeline", "i")),
    (sums, ("split", "i", 2), ("unroll", "i.inner")),
    (windows, ("split", "i", 4), ("pipeline", "i.outer")),
    (windows, ("split", "i", 4), ("unroll", "i.inner")),
    (windows, ("split", "r", 2), ("pipeline", "i")),
]


@pytest.mark.parametrize("options", [{"target": "vhls"}, {"target": "verilog", "simulator": "jit"}])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_the_last_tile_is_shorter(case, options):
    kernel, *calls = case
    rng = np.random.default_rng(4)
    A, B = (
        rng.integers(-99, 99, a.shape).astype(np.int32) for a in kernel.__annotations__.values()
    )
    s = allo.customize(kernel)
    for name, *args in calls:
        getattr(s, name)(*args)
    got = B.copy()
    s.build(**options)(A, got)
    np.testing.assert_array_equal(got, _wanted(kernel, A, B))


def test_an_unknown_number_of_iterations_is_refused():
    def kernel(A: int32[12], n: index, B: int32[10]):
        for i in range(n):
            v: int32 = 0
            for r in range(3):
                v += A[i + r]
            B[i] = v

    s = allo.customize(kernel)
    s.unroll("i")
    with pytest.raises(UnsupportedOpError) as error:
        s.build(target="verilog")
    assert "Loop i must be unrolled, but its number of iterations is not known" in str(error.value)
