"""Loops whose step only the run decides: no divider counts their trips, and memory keeps its order."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import int8, int32, int64


def recurrence(A: int32[64], first: int32, n: int32, st: int32):
    for i in range(first, n, st):
        A[i] = A[i] * 3 + A[(i + 61) % 64] + A[i // 2]


def remainders(A: int32[64], first: int32, n: int32, st: int32):
    for i in range(first, n, st):
        A[i % 4] += A[(i + 1) % 4] * 3 + i


def nests(A: int32[64], first: int32, n: int32, st: int32):
    for i in range(first, n, st):
        for j in range(0, i, 2 * st):
            A[j] += i * st
        for k in range(0, first, 2):
            A[k] -= 1
    for i in range(0, n, st):
        for j in range(first, 4, st):
            A[i] += A[j] * 5 + i


def beside(A: int32[64], first: int32, n: int32, st: int32):
    for i in range(first, n, st):
        A[i] += 7
    for j in range(0, n, st + 1):
        A[63 - j] = A[j] * 2 + 1


def early(A: int32[64], first: int32, n: int32, st: int32):
    for i in range(first, n, st):
        if A[i] > 90:
            break
        A[i] += A[0] + i


def behind(A: int32[64], first: int32, n: int32, st: int32):
    for i in range(first, n, st):
        A[i + 6] = A[i] * A[i] * A[i] + 1


def guarded(A: int32[64], first: int32, n: int32, st: int32):
    for i in range(first, n, st):
        if i < 50:
            A[i + 6] = A[i] * A[i] * A[i] + 1


def by_three(A: int32[64], first: int32, n: int32, st: int32):
    for i in range(first, n, 3):
        if i < 50:
            A[i + 6] = A[i] * A[i] * A[i] + 1


def far(A: int32[64], first: int64, n: int64, st: int64):
    c: int32 = 0
    for i in range(first, n, st):
        A[c] = i >> 33
        c += 1


def short(A: int32[64], first: int8, n: int8, st: int8):
    for i in range(first, n, st):
        A[i] += i + st


def unrolled(s):
    s.unroll("i", factor=3)


def pipelined(s):
    s.pipeline("i", initiation_interval=1)


def both(s):
    s.unroll("i", factor=2)
    s.pipeline("i")


def banked(s):
    s.partition(s.A, partition_type=2, factor=4)
    s.pipeline("i")


def spread(s):
    s.partition(s.A, partition_type=2, factor=2)
    s.unroll("i", factor=2)


RUNS = [
    (0, 20, 1),
    (0, 40, 6),
    (1, 24, 5),
    (7, 23, 3),
    (23, 24, 10),
    (23, 21, 2),
    (0, 8, 0),
    (3, 20, -2),
]
LARGE = [
    (2**63 - 5, 2**63 - 1, 3),
    (-(2**63), 2**63 - 1, 2**62),
    (-(2**63), 2**63 - 1, 2**63 - 1),
    (0, 2**63 - 1, 2**63 - 1),
    (5, -5, 1),
    (-(2**63), 2**63 - 1, -(2**63)),
]
EDGES = [(0, 63, 127), (1, 63, 60), (60, 61, 127), (0, 5, -128)]
CASES = [
    *((f, None, RUNS) for f in (recurrence, remainders, nests, beside, early, behind)),
    *((recurrence, plan, RUNS) for plan in (unrolled, pipelined, both, banked, spread)),
    *((behind, plan, RUNS) for plan in (pipelined, both, banked)),
    *((remainders, plan, RUNS) for plan in (both, banked)),
    (beside, banked, RUNS),
    (guarded, pipelined, RUNS),
    (by_three, pipelined, RUNS),
    (early, pipelined, RUNS),
    (far, None, LARGE),
    (short, None, EDGES),
    (short, unrolled, EDGES),
]


@pytest.mark.parametrize("kernel, plan, runs", CASES)
def test_hardware_takes_the_iterations_of_the_cpu(kernel, plan, runs):
    s = allo.customize(kernel)
    if plan is not None:
        plan(s)
    cpu, rtl = s.build(), s.build(target="verilog", simulator="jit", max_cycles=20000)
    for first, n, st in runs:
        expected = np.arange(64, dtype=np.int32) * 37 % 101
        found = expected.copy()
        cpu(expected, first, n, st)
        rtl(found, first, n, st)
        np.testing.assert_array_equal(found, expected)


def by_for(y: int32[1024], n: int32, st: int32):
    for i in range(0, n, st):
        y[i] = 1


def by_while(y: int32[1024], n: int32, st: int32):
    i: int32 = 0
    while i < n:
        y[i] = 1
        i += st


def test_a_step_of_run_time_costs_no_divider():
    figures = [
        allo.customize(f).estimate(device="xcup", clock_mhz=200).resources["lut"]
        for f in (by_for, by_while)
    ]
    # Yosys maps 239 and 59 lookup tables; a divider alone takes more than 1,000.
    assert figures[0] < 5 * figures[1], figures


def test_each_iteration_takes_one_cycle():
    s = allo.customize(by_for)
    s.pipeline("i")
    module = s.build(target="verilog", simulator="jit")
    took = []
    for n in (300, 600):
        module(np.zeros(1024, np.int32), n, 3)
        took.append(module.cycles)
    assert took[1] - took[0] == 100


def inside(A: int32[64], n: int32, st: int32):
    for i in range(n):
        for j in range(0, 8, st):
            A[i] += j


def test_a_loop_that_must_be_unrolled_names_itself():
    s = allo.customize(inside)
    s.pipeline("i")
    with pytest.raises(allo.errors.UnsupportedOpError, match="Loop j must be unrolled") as caught:
        s.build(target="verilog")
    assert "for j in range(0, 8, st)" in str(caught.value)
