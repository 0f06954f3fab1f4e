"""Arrays that are copied while the core runs.

It takes no element before that has come, and none leaves before it is written for the last time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl.interfaces.buses import copies
from allo.backend.rtl.interfaces.early import leaving, needed
from allo.backend.rtl.interfaces.early.gate import deadlines
from allo.backend.sim import external_memory
from allo.dialects.core.partition import ArrayLayout, DimPartition
from allo.errors import InterfaceError
from allo.ir.types import int32

from .kernels import agree, build, values

N, W = 24, 16
FIRST = {"kind": "m_axi", "copy": True}
BOTH = {**FIRST, "early": True}


def forwards(A: int32[N, W], C: int32[N, W]):
    for i in range(N):
        for j in range(W):
            C[i, j] += A[i, j] * A[i // 2, W - 1 - j]


def backwards(A: int32[N, W], C: int32[N, W]):
    for i in range(N):
        for j in range(W):
            C[N - 1 - i, j] += A[N - 1 - i, j] * A[(N - 1 - i) // 2, W - 1 - j]


def rows(kernel: Any = forwards) -> Any:
    """A row in eight cycles, each after rows that come before it."""
    s = allo.customize(kernel)
    for array in (s.A, s.C):
        s.partition(array, partition_type=Partition.Complete, dim=2)
    s.pipeline("i", initiation_interval=8)
    return s


def drawn(rng: np.random.Generator) -> list[Any]:
    return [values(rng, int32, (N, W)) for _ in range(2)]


def outside(schedule: Any, fields: dict[str, Any]) -> Any:
    """From a channel with banks and refresh for each array."""
    made = schedule.build(
        target="verilog",
        simulator="jit",
        clock_mhz=300,
        configs={"interface": {"A": fields, "C": fields}},
    )
    hbm = external_memory("hbm2", clock_mhz=300, timing="dram")
    return made.variant(memory={"A": hbm[0], "C": hbm[1]})


def test_rows_begin_before_the_array_is_there() -> None:
    """Nor has the last one left: from dynamic memory, and from one that stalls at random."""
    s = rows()
    first, early = outside(s, FIRST), outside(s, BOTH)
    assert [array.name for array in early.design.board.arrays if array.leaves] == ["C"]
    (before,), (after,) = (agree(s, mod, drawn, (1,)) for mod in (first, early))
    copied = N * W * 4 / (14.4e9 / 300e6)
    assert before - after > 1.8 * copied, "nearly both copies pass beside the core"
    assert abs(first.foretold.cycles - early.foretold.cycles - (before - after)) < 8
    stalled = build(s, {"A": BOTH, "C": BOTH}, stalls=0.6)
    assert len(agree(s, stalled, drawn)) == 3


def test_rows_of_the_end_wait_for_all_of_it() -> None:
    s = rows(backwards)
    first, early = outside(s, FIRST), outside(s, BOTH)
    (before,), (after,) = (agree(s, mod, drawn, (1,)) for mod in (first, early))
    assert abs(before - after) < 12
    assert abs(first.foretold.cycles - early.foretold.cycles) < 12


def test_a_core_that_is_told_too_late_when_it_needs_an_element(monkeypatch) -> None:
    """The fault that would matter: the table lets the core go 40 cycles too far."""
    monkeypatch.setattr(needed, "FIRST", needed.FIRST + 40)
    s = rows()
    with pytest.raises(AssertionError, match="argument 1"):
        agree(s, build(s, {"A": BOTH, "C": BOTH}, stalls=0.6), drawn)


def behind(A: int32[N, W], C: int32[N, W]):
    for i in range(N):
        for j in range(W):
            A[i, j] = A[i, j] * 3
    for i1 in range(N):
        C[i1, W - 1] += A[i1, 0]


def test_a_step_through_a_port_of_the_core_takes_two_cycles() -> None:
    """C comes in one element a step; the core would need its last rows before these are there."""
    s = allo.customize(behind)
    s.partition(s.A, partition_type=Partition.Complete, dim=2)
    s.partition(s.C, partition_type=Partition.Block, dim=2, factor=2)
    for loop, interval in (("i", 16), ("i1", 8)):
        s.pipeline(loop, initiation_interval=interval)
    first, early = outside(s, FIRST), outside(s, BOTH)
    (before,), (after,) = (agree(s, mod, drawn, (1,)) for mod in (first, early))
    assert abs(first.foretold.cycles - early.foretold.cycles - (before - after)) < 8


def test_rows_that_leave_too_early(monkeypatch) -> None:
    """The fault that would matter: the table lets each row go 10 cycles before its last write."""
    found = copies.releases
    monkeypatch.setattr(
        copies, "releases", lambda *given: [(max(0, at - 10), n) for at, n in found(*given)]
    )
    s = rows()
    with pytest.raises(AssertionError, match="argument 1"):
        agree(s, outside(s, BOTH), drawn)


def test_releases_are_of_the_steps_that_are_written() -> None:
    """Two rows of six elements, four in a step; what is written with the last one goes behind the core."""
    layout = ArrayLayout((DimPartition(None, 1, 2), DimPartition(Partition.Cyclic, 4, 6)))
    ends = np.array([3, 3, 9, 9, 2, 2, 30, 31, 30, 31, 40, 40])
    assert leaving.releases(ends, layout, 4) == [(9, 2), (31, 3)]
    assert leaving.releases(np.full(12, 7), layout, 4) == []


def test_deadlines_are_of_the_first_step_that_has_not_come() -> None:
    """Two rows of six elements, four in a step: the second step of a row has two."""
    layout = ArrayLayout((DimPartition(None, 1, 2), DimPartition(Partition.Cyclic, 4, 6)))
    needs = np.array([9, 9, 9, 3, 8, 8, 5, 5, 5, 5, np.inf, np.inf])
    assert deadlines(needs, layout, 4) == [3, 5, 5, np.inf, np.inf]
    assert deadlines(None, layout, 4) == [1, 1, 1, 1, np.inf]


def test_it_costs_no_clock() -> None:
    """Nothing is in front of what the core reads, nor behind what it says of its ports."""
    s = rows()
    first, early = (build(s, {"A": fields, "C": fields}).report for fields in (FIRST, BOTH))
    assert early.fmax_mhz > 0.97 * first.fmax_mhz
    assert early.resources["ff"] - first.resources["ff"] < 1.2 * (32 + 1) * 3 * W


def tripled(A: int32[48], x: int32[48]):
    for i in range(48):
        x[i] = A[i] * 3


def squared(B: int32[48], y: int32[48]):
    for j in range(48):
        y[j] = B[j] * B[j // 2] + 1


def beside(A: int32[48], w: int32[48]):
    for k in range(48):
        w[k] = A[k] ^ A[k // 4]


def inner(A: int32[48], B: int32[48], x: int32[48], y: int32[48]):
    tripled(A, x)
    squared(B, y)


def outer(A: int32[48], B: int32[48], x: int32[48], y: int32[48], w: int32[48]):
    beside(A, w)
    inner(A, B, x, y)


def test_a_region_that_waits_for_a_port_takes_what_it_has_read() -> None:
    """``inner`` stands still while ``beside`` has the port of A, and then the RAM answers ``beside``."""
    s = allo.customize(outer)
    s.pipeline("tripled:i")
    s.pipeline("squared:j")
    for region in ("inner", "outer"):
        s.dataflow(region)
    kinds = {"A": BOTH, "B": BOTH, **dict.fromkeys("xyw", "m_axi")}
    mod = build(s, kinds, stalls=0.6)
    assert len(agree(s, mod, lambda rng: [values(rng, int32, (48,)) for _ in range(5)])) == 3


def test_data_that_decide_let_it_wait_for_all() -> None:
    def picked(at: int32[16], A: int32[16], y: int32[16]):
        for i in range(16):
            if at[i] > 3:
                for k in range(4):
                    y[i] += A[at[i]]

    s = allo.customize(picked)
    mod = build(s, dict.fromkeys(("at", "A", "y"), BOTH))

    def draw(rng: np.random.Generator) -> list[Any]:
        return [
            rng.integers(0, 16, 16).astype(np.int32),
            *(values(rng, int32, (16,)) for _ in "Ay"),
        ]

    assert len(agree(s, mod, draw)) == 3


def test_it_is_true_or_false() -> None:
    with pytest.raises(InterfaceError) as error:
        build(rows(), {"A": {"kind": "m_axi", "early": "yes"}, "C": "m_axi"})
    assert error.value.message == "The interface of A has early 'yes'."
    assert "True for a run that begins while the array is copied in" in (error.value.help or "")
