"""``partition`` of an array that is complete already changes nothing, in every form."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo import Partition
from allo.errors import PartitionError, ScheduleError
from allo.ir.types import Stream, int32
from tests.compatibility.runs import check_results, numbers
from tests.engine import engine


def callee(B: int32[4, 3], n: int32) -> int32[4, 3]:
    C: int32[4, 3]
    for i, j in allo.grid(4, 3):
        C[i, j] = B[i, j] + n
    return C


def caller(A: int32[4, 3]) -> int32[4, 3]:
    X: int32[4, 3] = callee(A, 1)
    Y: int32[4, 3] = callee(X, 2)
    return Y


FORMS = [
    {},
    {"dim": 1},
    {"dim": 2},
    {"partition_type": Partition.Complete, "dim": 2, "factor": 3},
    {"partition_type": Partition.Block, "dim": 1, "factor": 2},
    {"partition_type": Partition.Cyclic, "dim": 0, "factor": 2},
    {"partition_type": Partition.Cyclic, "dim": 2},
    {"partition_type": 2, "factor": 4},
]


@pytest.mark.parametrize("form", FORMS)
def test_after_a_complete_partition(form):
    s = allo.customize(caller)
    s.partition(s.A)
    before, noted = str(s.module), dict(s.partitioned_arrays)
    s.partition(s.A, **form)
    s.partition("callee:B", **form)
    assert (str(s.module), s.partitioned_arrays) == (before, noted)


@pytest.mark.parametrize("form", FORMS)
def test_after_all_dimensions_one_by_one(form):
    s = allo.customize(callee)
    s.partition(s.B, dim=2)
    s.partition("callee:B", dim=1)
    before = str(s.module)
    s.partition(s.B, **form)
    assert str(s.module) == before
    B = numbers(4, 3)
    check_results(s, [B, 5], B + 5)


def test_an_array_that_became_complete_in_a_callee():
    one = allo.customize(callee)
    one.partition(one.B)
    s = allo.customize(caller)
    s.compose(one)
    s.partition(s.A)
    s.partition(s.X, dim=1)
    assert str(s.build(target="vhls")).count("complete dim=1") == 5
    A = numbers(4, 3)
    check_results(s, [A], A + 3)


@pytest.mark.parametrize(
    ("form", "error", "pattern"),
    [
        ({"dim": 3}, PartitionError, "Invalid dimension 3 for array B of rank 2"),
        ({"dim": -1}, PartitionError, "Invalid dimension -1"),
        ({"partition_type": 5}, PartitionError, "Invalid partition type 5"),
    ],
)
def test_what_was_never_valid_is_refused_all_the_same(form, error, pattern):
    s = allo.customize(callee)
    s.partition(s.B)
    with pytest.raises(error, match=pattern):
        s.partition(s.B, **form)
    with pytest.raises(ScheduleError, match="a string names a buffer as \"func:buffer\", got 'B'"):
        s.partition("B")


def test_a_part_of_the_dimensions_is_not_complete():
    s = allo.customize(callee)
    s.partition(s.B, dim=1)
    with pytest.raises(
        PartitionError, match="Cannot partition the same array on dimension 1 twice: B"
    ):
        s.partition(s.B, dim=1)
    with pytest.raises(PartitionError, match=r"Cannot mix all-dim partitioning \(dim=0\)"):
        s.partition(s.B)
    s.partition(s.B, Partition.Cyclic, dim=2, factor=3)
    B = numbers(4, 3)
    check_results(s, [B, 1], np.asarray(B + 1))


WEIGHTS = numbers(4, 3, seed=3)


@df.region()
def weighted(A: int32[4, 3], B: int32[4, 3]):
    pipe: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def send(a: int32[4, 3]):
        own: int32[4, 3] = WEIGHTS
        for i, j in allo.grid(4, 3):
            pipe.put(a[i, j] * own[i, j])

    @df.kernel(mapping=[1], args=[B])
    def receive(b: int32[4, 3]):
        for i, j in allo.grid(4, 3):
            b[i, j] = pipe.get()


@pytest.mark.parametrize("form", FORMS)
def test_arrays_and_constants_of_a_region(form):
    s = df.customize(weighted)
    names = ["weighted:A", "send_0:a", "send_0:own", "weighted:B"]
    for name in names:
        if name != "send_0:a":  # the same array as weighted:A
            s.partition(name)
    before = str(s.module)
    for name in names:
        s.partition(name, **form)
    assert str(s.module) == before
    if form == FORMS[-1]:
        A = numbers(4, 3)
        for target in ("simulator", "vhls", "verilog"):
            B = np.zeros((4, 3), np.int32)
            s.build(target=target, **engine(target))(A, B)
            np.testing.assert_array_equal(B, A * WEIGHTS, err_msg=target)
