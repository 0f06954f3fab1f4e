"""absorb: the body of a function takes the place of its calls."""

import numpy as np
import pytest

import allo
from allo.errors import HandleTypeError, ScheduleError
from allo.ir.types import index, int32
from tests.schedule.support import refused


def scale(X: int32[4, 5]):
    t: int32[5] = 0
    for i in range(4):
        for j in range(5):
            t[j] = X[i, j] * 3
            X[i, j] = t[j] + i


def twice(A: int32[4, 5], B: int32[4, 5]):
    t: int32[5] = 1
    for i, j in allo.grid(4, 5):
        A[i, j] += t[j]
    scale(A)
    scale(B)


def total(A: int32[4]) -> int32:
    s: int32 = 0
    for i in range(4):
        s += A[i]
    return s


def row(A: int32[4], n: index):
    A[n] = 1


def part(A: int32[4]):
    for i in range(4):
        A[i] = 0


def others(A: int32[4], B: int32[2, 4]):
    A[0] = total(A)
    for n in range(4):
        row(A, n)
    part(B[1])


@pytest.mark.parametrize(
    "target", [{}, {"target": "verilog", "simulator": "jit"}], ids=["cpu", "rtl"]
)
def test_each_call_is_replaced_and_names_are_free(target) -> None:
    s = allo.customize(twice)
    s.partition("scale:t", dim=1)
    s.absorb("scale")
    assert list(s.func_args) == ["twice"]
    assert [name for name, _ in s.get_loops()] == ["S_i_j_0", "S_i_0", "S_i_0_1"]
    assert [s.t.name, s.t_1.name, s.t_2.name] == ["t", "t_1", "t_2"]
    assert {"twice:t_1", "twice:t_2"} <= set(s.partitioned_arrays)
    s.pipeline(s.get_loops()["S_i_0_1"]["j"])
    assert 'from = "X"' not in str(s.module)
    A, B = np.random.default_rng(0).integers(-99, 99, (2, 4, 5)).astype(np.int32)
    lines = np.arange(4, dtype=np.int32)[:, None]
    wanted = (A + 1) * 3 + lines, B * 3 + lines
    s.build(**target)(A, B)
    np.testing.assert_array_equal((A, B), wanted)


def test_what_has_no_place_in_the_caller_is_refused() -> None:
    s = allo.customize(others)
    for func, reason in (
        ("total", "it returns something"),
        ("row", "it takes an index"),
        ("part", "it takes a part of an array"),
        ("others", "no function of the design calls it"),
    ):
        message = rf"absorb {func}: {reason}\."
        refused(s, ScheduleError, message, lambda func=func: s.absorb(func))
    refused(s, HandleTypeError, "Function name must be a string", lambda: s.absorb(3))
