"""Nests whose bounds are known only at run time flatten into one pipeline."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo import Partition
from allo.ir.types import Stream, UInt, int32

SIDE = 5


def fill(rows: int32, cols: int32, A: int32[SIDE, SIDE, 4], B: int32[SIDE, SIDE, 4]):
    for i in range(rows):
        for j in range(cols):
            for k in range(4):
                B[i, j, k] = A[i, j, k] * 3 + i - j


def running(rows: int32, cols: int32, A: int32[SIDE, SIDE], S: int32[SIDE]):
    for i in range(rows):
        for j in range(cols):
            S[j] = S[j] * A[i, j] + 3


def report_of(schedule, name: str):
    loops = schedule.build(target="verilog").report.functions[-1].loops
    return next(loop for loop in loops if name in loop.name)


@pytest.mark.parametrize(
    "rows,cols", [(5, 5), (1, 5), (5, 1), (1, 1), (3, 4), (0, 3), (3, 0), (0, 0)]
)
@pytest.mark.parametrize(
    "kernel,shapes", [(fill, [(5, 5, 4), (5, 5, 4)]), (running, [(5, 5), (5,)])]
)
def test_every_extent_gives_what_the_cpu_gives(kernel, shapes, rows: int, cols: int):
    s = allo.customize(kernel)
    s.pipeline("k" if kernel is fill else "j")
    rng = np.random.default_rng(rows * 7 + cols)
    inputs = [rng.integers(-100, 100, shape).astype(np.int32) for shape in shapes]
    expected, got = [a.copy() for a in inputs], [a.copy() for a in inputs]
    s.build()(rows, cols, *expected)
    s.build(target="verilog", simulator="jit")(rows, cols, *got)
    assert all(np.array_equal(a, b) for a, b in zip(expected, got, strict=True))


def test_independent_iterations_reach_ii_1():
    s = allo.customize(fill)
    s.pipeline("k")
    loop = report_of(s, "k")
    assert (loop.name.split(".")[-1], loop.ii, loop.trips) == ("i*j*k", 1, None)


def test_a_recurrence_across_an_unknown_extent_leaves_the_outer_loop_outside():
    s = allo.customize(running)
    s.pipeline("j")
    loop = report_of(s, "i")
    assert not loop.pipelined
    assert [(inner.name.split(".")[-1], inner.ii) for inner in loop.children] == [("j", 1)]


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_word_read_once_serves_several_iterations(rows: int):
    @df.region()
    def top(rows: int32, A: int32[SIDE], B: int32[SIDE * SIDE]):
        words: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[A])
        def source(a: int32[SIDE]):
            for i in range(SIDE):
                words.put(a[i])

        @df.kernel(mapping=[1], args=[B])
        def repeat(b: int32[SIDE * SIDE]):
            row: int32 = 0
            held: int32 = 0
            last: int32 = rows - 1
            total: int32 = rows * SIDE
            for step in range(total):
                if row == 0:
                    held = words.get()
                b[step] = held
                if row == last:
                    row = 0
                else:
                    row = row + 1

    s = df.customize(top)
    s.pipeline("repeat_0:step")
    A = np.arange(10, 10 + SIDE, dtype=np.int32)
    mod = s.build(target="verilog", simulator="jit")
    B = np.zeros(SIDE * SIDE, np.int32)
    mod(rows, A, B)
    unwritten = np.zeros((SIDE - rows) * SIDE, np.int32)
    assert np.array_equal(B, np.concatenate([np.repeat(A, rows), unwritten]))
    repeat = next(f for f in mod.report.functions if f.name == "repeat_0")
    assert [(loop.ii, loop.pipelined) for loop in repeat.loops] == [(1, True)]


def test_banks_are_known_whatever_the_number_of_iterations():
    def tripled(groups: int32, A: int32[32], B: int32[32]):
        for w in range(groups):
            for e in range(8):
                B[w * 8 + e] = A[w * 8 + e] * 3

    s = allo.customize(tripled)
    for array in ("A", "B"):
        s.partition(f"tripled:{array}", partition_type=Partition.Cyclic, factor=8)
    s.unroll("e")
    s.pipeline("w")
    assert report_of(s, "w").ii == 1
    A = np.random.default_rng(1).integers(1, 99, 32).astype(np.int32)
    for groups in (0, 3, 4):
        B = np.zeros(32, np.int32)
        s.build(target="verilog", simulator="jit")(groups, A, B)
        assert np.array_equal(B, np.where(np.arange(32) < 8 * groups, A * 3, 0))


def strided(A: int32[16], first: int32, last: int32, step: int32) -> int32:
    total: int32 = 0
    for i in range(first, last, step):
        total = total * 3 + A[i]
        for j in range(i, last, step + i):
            total += j
    return total


@pytest.mark.parametrize("first,last", [(0, 16), (3, 16), (5, 5), (7, 2), (15, 16)])
@pytest.mark.parametrize("step", [1, 3, 15, 2**30])
def test_a_step_may_be_known_at_run_time_only(first: int, last: int, step: int):
    A = np.random.default_rng(step).integers(-100, 100, 16).astype(np.int32)
    for pipelined in (False, True):
        s = allo.customize(strided)
        if pipelined:
            s.pipeline("j")
        expected = s.build()(A, first, last, step)
        assert s.build(target="verilog", simulator="jit")(A, first, last, step) == expected
        assert expected == np.int64(strided(A.astype(object), first, last, step)).astype(np.int32)


def quotients(A: int32[16]):
    for i in range(1, 8):
        for j in range(1, 4):
            for k in range(i // j):
                A[k] += i
            if i % j == 1:
                A[8 + i // j] += j


@pytest.mark.parametrize("pipelined", [False, True])
def test_a_bound_may_divide_one_iterator_by_another(pipelined: bool):
    """The divider takes cycles, so the bound is no logic on iterators alone."""
    s = allo.customize(quotients)
    if pipelined:
        s.pipeline("k")
    found, expected = np.arange(16, dtype=np.int32), np.arange(16, dtype=np.int32)
    quotients(expected)
    s.build(target="verilog", simulator="jit")(found)
    np.testing.assert_array_equal(found, expected)


def by_threes(low: int32, high: int32, A: int32[16], S: int32[4]):
    for turn in range(2):
        for i in range(low, high, 3):
            S[turn] = S[turn] + A[i]
        for j in range(low, high):
            S[2] = S[2] * 3 + A[j] + turn
            for k in range(2):
                S[3] = S[3] * 5 + A[j] - k


@pytest.mark.parametrize("low,high", [(0, 16), (2, 3), (2, 5), (2, 6), (3, 10), (7, 7), (9, 4)])
def test_a_range_ends_where_its_bounds_say(low: int, high: int):
    """One that begins anywhere, has steps of several, or holds another loop behind a first part."""
    s = allo.customize(by_threes)
    s.pipeline("i")
    A = np.random.default_rng(low).integers(-100, 100, 16).astype(np.int32)
    expected, got = np.zeros((2, 4), np.int32)
    s.build()(low, high, A, expected)
    s.build(target="verilog", simulator="jit")(low, high, A, got)
    assert np.array_equal(got, expected)


def test_a_range_that_surely_runs_is_not_asked_whether_it_does():
    def unknown(n: int32, B: int32[300]):
        for i in range(n):
            B[i] = i

    def at_least_once(n: int32, B: int32[300]):
        last: UInt(8) = n - 1
        for i in range(last + 1):
            B[i] = i

    comparisons = []
    for kernel in (unknown, at_least_once):
        s = allo.customize(kernel)
        s.pipeline("i")
        module = s.build(target="verilog", simulator="jit")
        comparisons.append(module.verilog.count("$signed"))
        for n in (1, 2, 256):
            B = np.full(300, -1, np.int32)
            module(n, B)
            assert np.array_equal(B, np.where(np.arange(300) < n, np.arange(300), -1))
    assert comparisons == [1, 0]
