"""Nests that wait for neighbours in two loops: wavefronts, where a whole row at once is too large."""

from __future__ import annotations

import time

import numpy as np

import allo
from allo.explore.beyond.skewed import steps_of_front, steps_of_windows, waiting
from allo.explore.model.read import read_kernel
from allo.ir.types import float32, int32

T, N = 2, 18
TABLES = 2200
"""Lookup tables in which one element is computed at once, and no row."""


def relaxed(A: float32[N, N]):
    for _t in range(T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = (A[i - 1, j + 1] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j]) / 4.0


def swept(A: int32[N, N], B: int32[N, N]):
    for i in range(N):
        for j in range(1, N - 1):
            B[i, j] = A[i, j - 1] + A[i, j + 1]


def test_a_front_is_faster_where_tables_are_few() -> None:
    found = allo.autoschedule(
        relaxed, max_lut=TABLES, seconds=5.0, cache=False, timer=time.process_time
    )
    assert "s.skew(" in found.script()
    assert found.trace.cycles is not None and 2 * found.trace.cycles < (found.trace.plain or 0)
    assert "equal" in found.trace.checked
    ours = np.random.default_rng(1).standard_normal((N, N), np.float32)
    wanted = ours.copy()
    hardware = found.build(target="verilog", simulator="jit")
    hardware(ours)
    allo.customize(relaxed).build()(wanted)
    assert ours.tobytes() == wanted.tobytes()
    assert hardware.cycles == found.trace.cycles


def test_what_waits_for_neighbours() -> None:
    assert not list(waiting(read_kernel(allo.customize(swept))))
    kernel = read_kernel(allo.customize(relaxed))
    nests = list(waiting(kernel))
    assert [nest.number for nest in nests] == [0]
    steps = steps_of_front(nests[0], 2)
    assert [step.primitive for step in steps] == ["skew", "reorder", "pipeline"]
    assert [step.arguments[2:] for step in steps_of_windows(kernel, nests)] == [(1, 3)]


def loop_of_data(n: int32, A: int32[N]) -> int32:
    left: int32 = n
    while left > 0:
        A[left] = A[left] + left
        left -= 1
    return left


def test_while_loops_stay_as_they_are() -> None:
    found = allo.autoschedule(
        loop_of_data, inputs=lambda rng: [5, rng.integers(0, 9, N).astype(np.int32)], cache=False
    )
    assert not found.primitive_sequences and "equal" in found.trace.checked
    assert "while loops, which hardware pipelines by itself" in found.trace.unexplored
