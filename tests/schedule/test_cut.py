"""cut: a loop in two parts that follow each other, each with a schedule of its own."""

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError
from allo.ir.types import float32, int32
from tests.schedule.support import refused


def rows(A: int32[9, 9], B: int32[9]):
    for i in range(0, 9, 2):
        total: int32 = i
        for j in range(i + 1):
            total += A[i, j]
        B[i] = total


def product(A: float32[4, 6], B: float32[6, 5], C: float32[4, 5]):
    for i, j in allo.grid(4, 5):
        for k in allo.reduction(6):
            C[i, j] += A[i, k] * B[k, j]


def trickle(A: int32[8], n: int32[1]):
    for i in range(8):
        for j in range(n[0]):
            A[i] = A[i] + j


TARGETS = pytest.mark.parametrize(
    "target", [{}, {"target": "verilog", "simulator": "jit"}], ids=["cpu", "rtl"]
)


@TARGETS
def test_parts_have_names_and_schedules_of_their_own(target) -> None:
    s = allo.customize(rows)
    rest = s.cut("i", 4)
    assert str(rest) == "LoopWrapper(rows:S_i_0.rest.i.rest)"
    last = s.cut(rest, 6)
    assert [name for name, _ in s.get_loops()] == ["S_i_0", "S_i_0.rest", "S_i_0.rest.rest"]
    assert [s.total.name, s.total_rest.name, s.total_rest_rest.name] == [
        "total",
        "total_rest",
        "total_rest_rest",
    ]
    s.pipeline("i")
    s.pipeline(last)
    A = np.random.default_rng(0).integers(-99, 99, (9, 9)).astype(np.int32)
    B = np.zeros(9, np.int32)
    s.build(**target)(A, B)
    for i in range(0, 9, 2):
        assert B[i] == i + A[i, : i + 1].sum()


def test_a_loop_inside_is_cut_in_its_nest_and_a_float_sum_keeps_its_bits() -> None:
    s = allo.customize(product)
    rest = s.cut("k", 2)
    assert [str(loop) for _, loop in s.get_loops()["S_i_j_0"]][2:] == [
        "LoopWrapper(product:S_i_j_0.k)",
        str(rest),
    ]
    made = [np.random.default_rng(1).standard_normal(n).astype(np.float32) for n in (24, 30, 20)]
    shapes = ((4, 6), (6, 5), (4, 5))
    ours, theirs = ([a.reshape(n).copy() for a, n in zip(made, shapes)] for _ in range(2))
    s.build()(*ours)
    allo.customize(product).build()(*theirs)
    assert ours[2].tobytes() == theirs[2].tobytes()


def test_places_outside_of_the_range_and_bounds_that_are_no_constants_are_refused() -> None:
    s = allo.customize(rows)
    refused(s, ScheduleError, r"cut i: no iteration inside begins at 3\.", lambda: s.cut("i", 3))
    refused(s, ScheduleError, r"cut i: no iteration inside begins at 10\.", lambda: s.cut("i", 10))
    refused(s, ScheduleError, r"cut i: the place must be >= 2, got 0\.", lambda: s.cut("i", 0))
    with pytest.raises(ScheduleError, match=r"use a place from 2 to 8, in steps of 2\."):
        s.cut("i", 3)
    refused(
        s,
        ScheduleError,
        r"test_cut\.py:\d+:\d+: cut j: its bounds depend on other values\.",
        lambda: s.cut("j", 1),
    )
    data = allo.customize(trickle)
    with pytest.raises(ScheduleError, match=r"cut the loop around it instead\."):
        data.cut("j", 1)
