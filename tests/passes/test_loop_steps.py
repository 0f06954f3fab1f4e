"""Loops whose step passes 2^63 end, and those whose step cannot are as they were."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import int32, int64

LEAST, MOST = -(2**63), 2**63 - 1
FAR = 2**62


def passing(n: int64, m: int64, p: int64[1], out: int64[7, 8], took: int32[7]):
    """Loops whose step passes the last index, upwards and downwards, from and to anything."""
    c: int32[7] = 0
    for i0 in range(n, 9223372036854775807, 2305843009213693952):
        out[0, c[0]] = i0
        c[0] += 1
    for i1 in range(n, m, 4611686018427387904):
        out[1, c[1]] = i1
        c[1] += 1
    for i2 in range(m, n, -4611686018427387904):
        out[2, c[2]] = i2
        c[2] += 1
    for i3 in range(max(n, 9223372036854775799), min(m, 9223372036854775805), 4):
        out[3, c[3]] = i3
        c[3] += 1
    for i4 in range(p[0], m, 3):
        for j in range(i4, i4 + 1, 5):
            out[4, c[4]] = j
            c[4] += 1
    for i5 in range(-9223372036854775808, 9223372036854775807, 4611686018427387904):
        out[5, c[5]] = i5
        c[5] += 1
    for i6 in range(n, 5, 4611686018427387904):
        out[6, c[6]] = i6
        c[6] += 1
    for k in range(7):
        took[k] = c[k]


def meant(n: int, m: int, p: int) -> list[range]:
    """What Python says of the same loops."""
    return [
        range(n, MOST, FAR // 2),
        range(n, m, FAR),
        range(m, n, -FAR),
        range(max(n, MOST - 8), min(m, MOST - 2), 4),
        range(p, m, 3),
        range(LEAST, MOST, FAR),
        range(n, 5, FAR),
    ]


PLACES = [
    (MOST - 4, MOST, MOST - 8),
    (MOST - 9, LEAST, MOST),
    (MOST, LEAST, 3),
    (MOST - 7, MOST - 3, MOST - 5),
    (MOST, MOST, MOST - 1),
    (LEAST, MOST, MOST),
    (LEAST, LEAST, LEAST),
]


@pytest.fixture(scope="module", params=["cpu", "csim", "jit", "interpret"])
def built(request):
    if request.param == "interpret":
        return allo.interpret(passing)
    s = allo.customize(passing)
    if request.param == "cpu":
        return s.build()
    if request.param == "csim":
        return s.build(target="vhls", mode="csim")
    return s.build(target="verilog", simulator="jit", max_cycles=5000)


@pytest.mark.parametrize("n, m, p", PLACES)
def test_loops_whose_last_step_passes_the_range_of_an_index_end(built, n, m, p):
    out, took = np.zeros((7, 8), np.int64), np.zeros(7, np.int32)
    built(n, m, np.array([p]), out, took)
    expected = meant(n, m, p)
    np.testing.assert_array_equal(took, [len(values) for values in expected])
    for row, values in zip(out.tolist(), expected, strict=True):
        assert row == [*values, *[0] * 8][:8]


def short(A: int32[64], n: int32):
    for i in range(0, n, 3):
        A[i] += 1
    for j in range(n, -1, -2):
        A[j] += 1


def test_loops_that_cannot_pass_it_are_left_as_they_are():
    s = allo.customize(short)
    assert str(s.module).count("affine.for") == 2
    text = s.build(target="vhls").hls_code
    assert "for (int64_t i = 0; i < v0; i += 3)" in text
    assert "for (int j = 0; j < allo_floordiv(v0, 2) + 1; j++)" in text


def test_a_product_of_indices_wraps_on_the_cpu():
    """MLIR promises LLVM that it does not."""

    def wrapped(n: int64, A: int32[4]):
        for i in range(4):
            for j in range(n * 2, n * 2 + i):
                A[i] += 1

    found = np.zeros(4, np.int32)
    allo.customize(wrapped).build()(2**62, found)
    np.testing.assert_array_equal(found, [0, 1, 2, 3])
