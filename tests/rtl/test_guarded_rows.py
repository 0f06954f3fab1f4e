"""A condition on the rows of an array parts the row that a loop reads from those that it writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import float32, int32

N = 8


def by_argument(B: float32[N, N], f: float32[N], p: int32):
    for r in range(N):
        for e in range(N):
            if r != p:
                B[r, e] -= f[r] * B[p, e]


def by_variable(B: float32[N, N], f: float32[N], p: int32):
    q: int32 = p + 0
    for r in range(N):
        for e in range(N):
            if r > q:
                B[r, e] -= f[r] * B[q, e]


def by_counter(B: float32[N, N], f: float32[N], p: int32):
    for k in range(N):
        for r in range(N):
            for e in range(N):
                if r != k:
                    B[r, e] -= f[r] * B[k, e]


def of_another_row(B: float32[N, N], f: float32[N], p: int32):
    for r in range(N):
        for e in range(N):
            if r != p + 1:
                B[r, e] -= f[r] * B[p, e]


def moving(B: float32[N, N], f: float32[N], p: int32):
    """What the condition parts is another row in the next iteration."""
    q: int32 = p
    for r in range(N):
        for e in range(N):
            if r != q:
                B[r, e] -= f[r] * B[q, e]
        q = N - 1 - q


def eliminated(kernel: Callable[..., Any], B: np.ndarray, f: np.ndarray, p: int) -> np.ndarray:
    """The kernel's meaning, in its order, in float32."""
    out = B.copy()
    for k in range(N) if kernel is by_counter else (p,):
        q = k
        for r in range(N):
            touched = {
                by_variable: r > q,
                of_another_row: r != q + 1,
            }.get(kernel, r != q)
            if touched:
                out[r] = out[r] - f[r] * out[q]
            if kernel is moving:
                q = N - 1 - q
    return out


PARTED = {by_argument, by_variable, by_counter}


@pytest.mark.parametrize(
    "kernel",
    [by_argument, by_variable, by_counter, of_another_row, moving],
    ids=lambda k: k.__name__,
)
def test_a_row_that_is_only_read_is_no_recurrence(kernel: Callable[..., Any]):
    s = allo.customize(kernel)
    s.partition(s.B, dim=2)
    s.pipeline("r")
    rng = np.random.default_rng(1)
    B, f = (rng.standard_normal(shape).astype(np.float32) for shape in ((N, N), N))
    rtl = s.build(target="verilog", simulator="jit", clock_mhz=200)
    for p in (0, 3, N - 2):
        want = eliminated(kernel, B, f, p)
        for module in (s.build(), rtl):
            got = B.copy()
            module(got, f, p)
            np.testing.assert_array_equal(got, want)
    loop = rtl.report.functions[0].loops[0]
    loop = loop.children[0] if loop.children else loop
    if kernel in PARTED:
        assert loop.ii <= 2 and "distance" not in loop.limit
    else:
        assert loop.ii > 3 and "distance 1" in loop.limit


def test_csim_agrees():
    s = allo.customize(by_argument)
    s.pipeline("r")
    rng = np.random.default_rng(2)
    B, f = (rng.standard_normal(shape).astype(np.float32) for shape in ((N, N), N))
    got = B.copy()
    s.build(target="vhls", mode="csim")(got, f, 3)
    np.testing.assert_array_equal(got, eliminated(by_argument, B, f, 3))


def counted(A: int32[2], n: int32, p: int32):
    for i in range(1, 8):
        w: int32 = 0
        while w < 4 and i != 6:
            w += 1
            A[0] += 1


def chained(A: int32[2], n: int32, p: int32):
    for i in range(1, 8):
        w: int32 = 0
        while w < n and i != p:
            w += 1
            A[i & 1] += A[0] + 1


@pytest.mark.parametrize("kernel", [counted, chained])
def test_turns_of_a_while_loop_follow_each_other(kernel: Callable[..., Any]) -> None:
    """What counts them was said to be 0 in all of them: no turn met the one before."""
    s = allo.customize(kernel)
    module, cpu = s.build(target="verilog", simulator="jit"), s.build()
    for n, p in ((0, 3), (5, 2), (7, 9)):
        ours = np.array([3, -4], np.int32)
        theirs = ours.copy()
        module(ours, n, p)
        cpu(theirs, n, p)
        np.testing.assert_array_equal(ours, theirs)
