"""Pipelines that overlap compare lanes of an unrolled loop once, and whole banks with elements never."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl.plan.runs import swaps
from allo.ir.types import float32, int32


def rows[P](A: int32[8, P], B: int32[8, P]) -> int32[8, P]:
    C: int32[8, P]
    out: int32[8, P]
    for i in range(8):
        for j in range(P):
            C[i, j] = A[i, j] * 3
    for i1 in range(8):
        for j1 in range(P):
            out[i1, j1] = C[i1, j1] + B[i1, j1]
    return out


def build(lanes: int):  # type: ignore[no-untyped-def]
    s = allo.customize(rows, instantiate=[lanes])
    for array in (s.A, s.B, s.C, s.out):
        s.partition(array, dim=2, partition_type=Partition.Complete)
    s.pipeline("i")
    s.pipeline("i1")
    return s.build(target="verilog", simulator="jit")


def test_what_is_compared_does_not_grow_with_the_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    apart, counts = swaps._apart, []

    def counting(*given):  # type: ignore[no-untyped-def]
        counts[-1] += 1
        return apart(*given)

    monkeypatch.setattr(swaps, "_apart", counting)
    for lanes in (2, 16):
        counts.append(0)
        module = build(lanes)
        a, b = (np.arange(8 * lanes, dtype=np.int32).reshape(8, lanes) * k for k in (1, 7))
        np.testing.assert_array_equal(module(a, b), a * 3 + b)
        assert module.cycles == module.report.cycles
    assert counts[0] == counts[1] > 0


def test_an_array_filled_bank_by_bank_is_waited_for() -> None:
    """Its stores have a bank and a word for subscripts, the loads before them that of the program."""

    def filled(A: float32[3, 12]) -> float32[3, 12]:
        out: float32[3, 12]
        for t in range(3):
            C: float32[12] = 5.0
            for i in range(12):
                C[i] = C[i] + A[t, i]
            for k in range(12):
                out[t, k] = A[t, k] * A[t, k] * 2.0 + C[k]
        return out

    s = allo.customize(filled)
    s.partition(s.C, partition_type=Partition.Cyclic, factor=2)
    s.pipeline("i")
    s.pipeline("k")
    module = s.build(target="verilog", simulator="jit")
    a = np.arange(36, dtype=np.float32).reshape(3, 12)
    np.testing.assert_array_equal(module(a), a * a * 2 + (5 + a))
    assert module.cycles == module.report.cycles
