"""Wavefronts: loops whose bounds are quotients of counters are counted, and hardware takes these cycles."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.backend.rtl.plan import cycles
from allo.customize import Schedule
from allo.ir.types import int32


def relaxed(A: int32[9, 12]):
    for t in range(3):
        for i in range(1, 8):
            for j in range(1, 11):
                A[i, j] = A[i - 1, j + 1] * 3 + A[i, j - 1] - A[i + 1, j] + A[i, j + 1] * 2


def front(factor: int) -> Schedule:
    s = allo.customize(relaxed)
    s.skew("i", "j", factor)
    s.reorder("j", "i")
    s.pipeline("i")
    return s


def measured(s: Schedule) -> tuple[int | None, int]:
    """Cycles of the report before a run, and of the run; its elements are those of the CPU build."""
    hardware = s.build(target="verilog", simulator="jit")
    wanted = np.random.default_rng(3).integers(-99, 99, (9, 12)).astype(np.int32)
    got = wanted.copy()
    predicted = hardware.report.cycles
    hardware(got)
    allo.customize(relaxed).build()(wanted)
    np.testing.assert_array_equal(got, wanted)
    return predicted, hardware.cycles


@pytest.mark.parametrize("factor", [2, 3])
def test_quotients_of_counters_bound_a_front(factor: int) -> None:
    predicted, taken = measured(front(factor))
    assert predicted == taken


def test_a_front_that_is_cut_into_pieces() -> None:
    s = front(2)
    s.split("j", 4)
    predicted, taken = measured(s)
    assert predicted == taken


def test_a_quotient_that_is_rounded_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a slice of a sum is taken for the sum without it."""
    monkeypatch.setattr(cycles, "_of_node", lambda node, values: values.get(node.number, 1))
    predicted, taken = measured(front(2))
    assert predicted != taken
