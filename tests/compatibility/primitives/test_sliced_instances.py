"""Schedules of functions whose calls pass slices: dimensions count as the function declares them."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo import Partition
from allo.dialects.core.partition import layout_of
from allo.errors import PartitionError, ScheduleError
from allo.ir.types import int32
from tests.compatibility.runs import TARGETS, numbers
from tests.engine import engine


def add(X: int32[8], Y: int32[8]):
    for i in range(8):
        Y[i] += X[i]


def rows(A: int32[2, 8], B: int32[2, 8]):
    add["a"](A[0], B[0])
    add["b"](A[1], B[1])


def within(A: int32[2, 8]):
    add["a"](A[0], A[1])
    add["b"](A[1], A[0])


def plane(P: int32[4, 8], out: int32[4]):
    for i, j in allo.grid(4, 8):
        out[i] += P[i, j]


def planes(T: int32[4, 3, 8], out: int32[3, 4]):
    plane["a"](T[:, 0, :], out[0])
    plane["b"](T[:, 1, :], out[1])


def halves(A: int32[16], B: int32[16]):
    add["a"](A[0:8], B[8:16])
    add["b"](A[8:16], B[0:8])


def wholes(A: int32[8], B: int32[8]):
    add["a"](A, B)
    add["b"](B, A)


def banks(s: allo.Schedule, name: str) -> list[int]:
    """Banks along each dimension of an array of the top function."""
    names = [argument.name for argument in s.func_args[s.top_func_name]]
    kinds = s.top_func.operation.regions[0].blocks[0].arguments
    return [dim.banks for dim in layout_of(kinds[names.index(name)].type).dims]


def spread(array: str, dim: int) -> allo.Schedule:
    s = allo.customize(plane if array in ("P", "out") else add)
    s.partition(getattr(s, array), Partition.Cyclic, dim=dim, factor=2)
    return s


@pytest.mark.parametrize("ids", ["a", "b", "ab", "ba"])
@pytest.mark.parametrize(
    ("top", "array", "dim", "of", "expected"),
    [
        (rows, "Y", 1, "B", [1, 2]),
        (rows, "X", 0, "A", [1, 2]),
        (planes, "P", 1, "T", [2, 1, 1]),
        (planes, "P", 2, "T", [1, 1, 2]),
        (planes, "P", 0, "T", [2, 1, 2]),
        (halves, "Y", 1, "B", [2]),
        (within, "Y", 1, "A", [1, 2]),
    ],
)
def test_the_slices_dimension_is_spread(top, array, dim, of, expected, ids):
    s = allo.customize(top)
    for one in ids:
        s.compose(spread(array, dim), id=one)
    assert banks(s, of) == expected


@pytest.mark.parametrize("top", [rows, within, halves, wholes])
def test_both_operands_of_both_instances(top):
    both = allo.customize(add)
    both.partition(both.X, Partition.Cyclic, dim=1, factor=2)
    both.partition(both.Y, Partition.Cyclic, dim=1, factor=2)
    both.unroll("i", 2)
    s = allo.customize(top)
    s.compose(both, id="a")
    s.compose(both, id="b")
    given = [numbers(*(d.shape)) for d in s.func_args[s.top_func_name]]
    wanted = [x.copy() for x in given]
    top_in_numpy(top, *wanted)
    for target in TARGETS:
        found = [x.copy() for x in given]
        s.build(target=target, **engine(target))(*found)
        np.testing.assert_array_equal(found, wanted, err_msg=target)


def top_in_numpy(top, A, B=None):
    if top is rows:
        B += A
    elif top is within:
        A[1] += A[0]
        A[0] += A[1]
    elif top is halves:
        B[8:] += A[:8]
        B[:8] += A[8:]
    else:
        B += A
        A += B


def test_an_instance_after_its_rows_became_arrays_takes_other_primitives():
    piped = allo.customize(add)
    piped.pipeline("i")
    s = allo.customize(rows)
    s.compose(spread("Y", 1), id="a")
    s.compose(piped, id="b")
    assert "pipeline_ii" in s.get_loops("add_b")["S_i_0"]["i"].loop.attributes


def test_a_dimension_that_the_function_does_not_declare():
    s = allo.customize(rows)
    s.compose(spread("Y", 1), id="a")
    with pytest.raises(PartitionError, match="Invalid dimension 2 for array Y of rank 1") as caught:
        s.partition("add_b:Y", dim=2)
    assert caught.value.help == "dimensions count from 1 to 1; 0 means all of them."


def test_another_spread_of_the_same_array_is_refused():
    s = allo.customize(rows)
    s.compose(spread("Y", 1), id="a")
    with pytest.raises(PartitionError, match="on dimension 1 twice: Y") as caught:
        s.partition("add_b:Y", Partition.Cyclic, dim=1, factor=4)
    assert caught.value.help == "leave one of the calls out."


def test_a_schedule_of_other_shapes_is_refused():
    def add(X: int32[2, 8], Y: int32[2, 8]):
        for i, j in allo.grid(2, 8):
            Y[i, j] += X[i, j]

    s = allo.customize(rows)
    s.compose(spread("Y", 1), id="a")
    with pytest.raises(ScheduleError, match=r"add_b here is add_b\(i32\[8\], i32\[8\]\)"):
        s.compose(allo.customize(add), id="b")
    np.testing.assert_array_equal(banks(s, "B"), [1, 2])
