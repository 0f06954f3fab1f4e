"""buffer_at and partition."""

from __future__ import annotations

import pytest

import allo
from allo.dialects.core.partition import Partition
from allo.errors import PartitionError, ScheduleError, UnknownHandleError
from allo.ir.types import int32
from allo.schedule import MockBuffer, Schedule
from tests.schedule.support import DATA, check_golden, count, kernel, loops, refused, text
from tests.schedule.test_more_primitives import assert_same


def small_gemm() -> str:
    """gemm of 12 x 12 x 12."""
    source = (DATA / "gemm.mlir").read_text()
    return source.replace("32x32", "12x12").replace("to 32", "to 12")


def test_buffer_at_with_a_known_initial_value():
    s = kernel("gemm")
    s.reorder("k", "j")
    row = s.buffer_at(s.C, "i")
    assert row == MockBuffer("gemm", "C_row") == s.C_row
    check_golden(s, "buffer_at")


def test_buffer_at_reads_the_array_when_its_value_is_unknown():
    source = (DATA / "gemm.mlir").read_text()
    source = "\n".join(line for line in source.splitlines() if "linalg.fill" not in line)
    s = Schedule.from_text(source)
    s.reorder("k", "j")
    s.buffer_at(s.C, "i")
    check_golden(s, "buffer_at_unknown")


def test_buffer_at_copies_as_wide_as_the_unrolled_loop():
    s = kernel("gemm")
    s.split("j", 8)
    s.reorder("k", "j.outer", "j.inner")
    s.unroll("j.inner")
    s.buffer_at(s.C, "i")
    assert loops(s)[1:3] == ["j_init", "j_init.inner"] and loops(s)[-2:] == [
        "j_back",
        "j_back.inner",
    ]
    check_golden(s, "buffer_at_unrolled")
    ragged = Schedule.from_text(small_gemm())
    ragged.split("j", 5)
    ragged.reorder("k", "j.outer", "j.inner")
    ragged.unroll("j.inner")
    ragged.buffer_at(ragged.C, "i")
    assert_same(ragged, Schedule.from_text(small_gemm()))


def test_buffer_at_keeps_a_fill_that_is_still_seen():
    source = small_gemm().replace("%i = 0 to 12", "%i = 0 to 12 step 2")
    s = Schedule.from_text(source)
    s.reorder("k", "j")
    s.buffer_at(s.C, "i")
    assert "linalg.fill" in text(s)
    assert_same(s, Schedule.from_text(source))


def accessed_first(A: int32[3, 5], B: int32[8]):
    for i in range(4):
        A[i // 2, 0] ^= i % 3
        for j in range(i, 6):
            B[j] = i


def test_buffer_at_where_an_access_comes_first():
    """The copy was put in front of a load that another one had replaced: a crash of the process."""
    s = allo.customize(accessed_first)
    s.buffer_at(s.A, "i")
    assert_same(s, allo.customize(accessed_first))


def test_buffer_at_of_a_tile():
    def apply(s: Schedule) -> Schedule:
        s.split("i", 4)
        s.split("j", 8)
        s.reorder("i.outer", "j.outer", "k", "i.inner", "j.inner")
        s.buffer_at(s.C, "j.outer")
        return s

    check_golden(apply(kernel("gemm")), "buffer_at_tile")
    ragged = apply(Schedule.from_text(small_gemm()))
    assert "linalg.fill" not in text(ragged)
    assert_same(ragged, Schedule.from_text(small_gemm()))


@pytest.mark.parametrize(
    ("axis", "pattern"),
    [
        ("j", "it is the innermost loop"),
        ("k", "it is a loop the array is summed over"),
        ("l", "No such loop 'l'"),
    ],
)
def test_buffer_at_refuses_unfit_loops(axis, pattern):
    s = kernel("gemm")
    s.reorder("k", "j")
    refused(s, ScheduleError, pattern, lambda: s.buffer_at(s.C, axis))


def test_buffer_at_refuses_other_targets():
    p = kernel("producer")
    refused(
        p,
        ScheduleError,
        "nothing is stored to the array inside it",
        lambda: p.buffer_at(p.A, p.get_loops()["B"]["i"]),
    )
    s = kernel("gemm")
    refused(s, AssertionError, "Target must be a buffer, got 5", lambda: s.buffer_at(5, "i"))
    refused(
        s,
        UnknownHandleError,
        r"Target D not found in function gemm\.\nhelp: gemm has the buffers A, B, C",
        lambda: s.buffer_at(MockBuffer("gemm", "D"), "i"),
    )


COMPLETE = "affine_map<(d0, d1) -> (d0, d1, 0, 0)>"


def test_partition_texts():
    s = kernel("gemm")
    s.partition(s.A)
    s.partition(s.B, Partition.Complete, dim=1)
    s.partition(s.C, Partition.Block, dim=2, factor=5)
    s.partition(s.C, Partition.Cyclic, dim=1, factor=4)
    assert COMPLETE in text(s)
    assert "affine_map<(d0, d1) -> (d0, 0, 0, d1)>" in text(s)
    assert "(d0, d1) -> (d0 mod 4, d1 floordiv 7, d0 floordiv 4, d1 mod 7)" in text(s)
    for again in ((), (Partition.Complete, 1), (Partition.Cyclic, 2, 4)):
        s.partition(s.A, *again)
    assert s.partitioned_arrays["gemm:A"] == [(0, Partition.Complete, 0)]
    assert s.partitioned_arrays["gemm:C"] == [(2, Partition.Block, 5), (1, Partition.Cyclic, 4)]


def test_partition_flows_through_calls_in_both_directions():
    path = DATA.parent.parent / "data" / "calls_i8.mlir"
    s = Schedule.from_text(path.read_text())
    s.partition("mm:C", Partition.Cyclic, dim=2, factor=2)
    s.partition(s.A, dim=2)
    assert s.module.operation.verify()
    check_golden(s, "partition_calls")
    assert count(s, r"memref<4x4xi32, #map\d*>") >= 6


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        ((7,), "Invalid partition type 7"),
        ((Partition.Complete, -1), "Invalid dimension -1 for array A of rank 2"),
        ((Partition.Complete, 3), "Invalid dimension 3 for array A of rank 2"),
        ((Partition.Cyclic, 1, -2), "Invalid factor -2"),
        ((Partition.Block, 1), "Invalid factor 0"),
    ],
)
def test_partition_refuses_bad_arguments(arguments, pattern):
    s = kernel("gemm")
    refused(s, PartitionError, pattern, lambda: s.partition(s.A, *arguments))


def test_partition_refuses_conflicts():
    s = kernel("gemm")
    s.partition(s.A, dim=1)
    refused(
        s,
        PartitionError,
        r"Cannot mix all-dim partitioning \(dim=0\) with per-dimension partitions for array A",
        lambda: s.partition(s.A),
    )
    refused(
        s,
        PartitionError,
        "Cannot partition the same array on dimension 1 twice: A",
        lambda: s.partition(s.A, Partition.Cyclic, dim=1, factor=2),
    )
    refused(s, ScheduleError, 'names a buffer as "func:buffer"', lambda: s.partition("A"))
