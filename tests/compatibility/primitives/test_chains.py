"""Chains of ``compute_at``: a producer in a producer in a consumer, at any depths."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import allo
from allo.errors import IllegalTransformError, ScheduleError
from allo.ir.types import int32
from tests.compatibility.runs import check_results, numbers


def three(A: int32[3, 4, 5]) -> int32[3, 4, 5]:
    B: int32[3, 4, 5] = 0
    C: int32[3, 4, 5] = 0
    D: int32[3, 4, 5] = 0
    for i, j, m in allo.grid(3, 4, 5, name="B"):
        B[i, j, m] = A[i, j, m] * 2
    for i, j, m in allo.grid(3, 4, 5, name="C"):
        C[i, j, m] = B[i, j, m] + 1
    for i, j, m in allo.grid(3, 4, 5, name="D"):
        D[i, j, m] = C[i, j, m] * 3
    return D


@pytest.mark.parametrize(("first", "second"), list(itertools.product("ijm", "ijm")))
def test_chains_of_any_depths(first, second):
    s = allo.customize(three)
    loops = s.get_loops()
    s.compute_at(loops["B"][first], loops["C"][first])
    s.compute_at(loops["C"][second], loops["D"][second])
    assert [name for name, _ in s.get_loops()] == ["D"]
    A = numbers(3, 4, 5)
    check_results(s, [A], (A * 2 + 1) * 3)


def test_a_row_of_differences_before_it_is_used():
    def rows(A: int32[5, 7]) -> int32[5, 6]:
        B: int32[5, 6] = 0
        C: int32[5, 6] = 0
        D: int32[5, 6] = 0
        for i, j in allo.grid(5, 6, name="B"):
            B[i, j] = A[i, j + 1] - A[i, j]
        for i, j in allo.grid(5, 6, name="C"):
            C[i, j] = B[i, j] + B[i, 0]
        for i, j in allo.grid(5, 6, name="D"):
            D[i, j] = C[i, j] * C[i, 5 - j]
        return D

    s = allo.customize(rows)
    loops = s.get_loops()
    s.compute_at(loops["B"]["i"], loops["C"]["i"])
    s.compute_at(loops["C"]["i"], loops["D"]["i"])
    A = numbers(5, 7)
    B = np.diff(A, axis=1)
    C = B + B[:, :1]
    check_results(s, [A], C * C[:, ::-1])


def test_a_product_in_a_chain():
    def layers(A: int32[4, 5], W: int32[5, 6], b: int32[6]) -> int32[4, 6]:
        P: int32[4, 6] = 0
        Q: int32[4, 6] = 0
        R: int32[4, 6] = 0
        S: int32[4, 6] = 0
        for i, j in allo.grid(4, 6, name="P"):
            for k in range(5):
                P[i, j] += A[i, k] * W[k, j]
        for i, j in allo.grid(4, 6, name="Q"):
            Q[i, j] = P[i, j] + b[j]
        for i, j in allo.grid(4, 6, name="R"):
            R[i, j] = Q[i, j] if Q[i, j] > 0 else 0
        for i, j in allo.grid(4, 6, name="S"):
            S[i, j] = R[i, j] * 2 - P[i, j]
        return S

    s = allo.customize(layers)
    loops = s.get_loops()
    s.compute_at(loops["P"]["i"], loops["Q"]["i"])
    s.compute_at(loops["Q"]["j"], loops["R"]["j"])
    s.compute_at(loops["R"]["j"], loops["S"]["j"])
    A, W, b = numbers(4, 5), numbers(5, 6), numbers(6)
    product = A @ W
    check_results(s, [A, W, b], np.maximum(product + b, 0) * 2 - product)


def test_an_illegal_link_of_a_chain_is_refused():
    def rows(A: int32[5, 6]) -> int32[5, 6]:
        B: int32[5, 6] = 0
        C: int32[5, 6] = 0
        D: int32[5, 6] = 0
        for i, j in allo.grid(5, 6, name="B"):
            B[i, j] = A[i, j] + 1
        for i, j in allo.grid(5, 6, name="C"):
            C[i, j] = B[i, j] * 2
        for i, j in allo.grid(5, 6, name="D"):
            D[i, j] = C[i, 5 - j]
        return D

    s = allo.customize(rows)
    loops = s.get_loops()
    s.compute_at(loops["B"]["i"], loops["C"]["i"])
    before = str(s.module)
    with pytest.raises(
        IllegalTransformError, match="compute C at loop j of D: it breaks a read after write"
    ):
        s.compute_at(loops["C"]["j"], loops["D"]["j"])
    assert str(s.module) == before


def test_what_stands_before_an_inner_loop_may_not_pass_what_it_depends_on():
    def rows(A: int32[4, 4]) -> int32[4, 4]:
        B: int32[4] = 0
        C: int32[4, 4] = 0
        D: int32[4, 4] = 0
        for i in range(4, name="C"):
            for j in range(4):
                B[j] = B[j] + A[i, j]
            for m in range(4):
                C[i, m] = A[i, m]
        for i, m in allo.grid(4, 4, name="D"):
            D[i, m] = C[i, m] + B[m]
        return D

    s = allo.customize(rows)
    loops = s.get_loops()
    with pytest.raises(IllegalTransformError, match="it breaks a .* dependence on B"):
        s.compute_at(loops["C"]["m"], loops["D"]["m"])


def test_a_producer_that_ends_in_no_loop_is_refused():
    def rows(A: int32[4, 4]) -> int32[4, 4]:
        B: int32[4, 4] = 0
        D: int32[4, 4] = 0
        for i in range(4, name="B"):
            for j in range(4):
                B[i, j] = A[i, j]
            B[i, 0] = 9
        for i, j in allo.grid(4, 4, name="D"):
            D[i, j] = B[i, j]
        return D

    s = allo.customize(rows)
    loops = s.get_loops()
    with pytest.raises(ScheduleError, match="has no loop last in its body at depth 1") as raised:
        s.compute_at(loops["B"]["j"], loops["D"]["j"])
    assert "choose an outer loop of the consumer" in str(raised.value)
