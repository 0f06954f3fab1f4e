"""Conditions around loops that loop counters decide: report.cycles are those of the simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.plan import cycles
from allo.ir.types import int32

N = 12


def late(A: int32[N, 16], B: int32[N, 16]):
    for i in range(N):
        if i >= 3:
            for j in range(16):
                B[i, j] = A[i - 3, j] + 1


def either(A: int32[N, 16], B: int32[N, 16]):
    for i in range(N):
        if i < 5:
            for j in range(16):
                B[i, j] = A[i, j] + 1
        else:
            for j in range(4):
                B[i, j] = A[i, j] * 3
            for j in range(3):
                B[i, j + 4] = A[i, j] * 5


def slanted(A: int32[N, 16], B: int32[N, 16]):
    for i in range(N):
        for t in range(4):
            if i + 2 * t > 7 and i != 9:
                for j in range(16):
                    B[i, j] += A[i, j] + t
        for j in range(2):
            B[i, j] += 1


def nested(A: int32[N, 16], B: int32[N, 16]):
    for i in range(N):
        x: int32 = A[i, 0]
        if i == 4 or i > 8:
            for j in range(16):
                B[i, j] += A[i, j] + x
            if i > 9:
                for j in range(5):
                    B[i, j] += 1
        B[i, 3] = x


def triangular(A: int32[N, 16], B: int32[N, 16]):
    for i in range(N):
        for k in range(i):
            if k > 2:
                for j in range(k):
                    B[i, j] += A[k, j]


def built(kernel: Any) -> Any:
    s = allo.customize(kernel)
    s.pipeline("j")
    return s, s.build(target="verilog", simulator="jit")


def run(s: Any, module: Any) -> None:
    """Right on random values."""
    A, B = np.random.default_rng(0).integers(0, 9, (2, N, 16)).astype(np.int32)
    mine = B.copy()
    module(A, mine)
    s.build()(A, B)
    np.testing.assert_array_equal(mine, B)


@pytest.mark.parametrize("kernel", [late, either, slanted, nested, triangular])
def test_cycles_are_those_of_the_simulation(kernel: Any) -> None:
    s, module = built(kernel)
    run(s, module)
    assert module.report.cycles == module.cycles


def test_a_branch_taken_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = cycles.decided
    monkeypatch.setattr(cycles, "decided", lambda *a: not taken(*a))
    s, module = built(late)
    run(s, module)
    assert module.report.cycles != module.cycles


def test_conditions_on_data_are_not_counted() -> None:
    def some(A: int32[N, 16], B: int32[N, 16]):
        for i in range(N):
            if A[i, 0] > 3:
                for j in range(16):
                    B[i, j] = A[i, j] + 1

    assert built(some)[1].report.cycles is None
