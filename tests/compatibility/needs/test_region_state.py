# ruff: noqa: F823, F841 - the variables are those of the region around the kernels
"""Stateful variables that a region declares: they belong to the kernel instance that uses them."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import CompileTimeError, DataflowError
from allo.ir.types import Fixed, Stateful, Stream, int32
from tests.engine import engine

A = np.arange(1, 9, dtype=np.int32)
START = np.array([10, 20, 30, 40], np.int32)


@df.region()
def running(a: int32[8], b: int32[8]):
    pipe: Stream[int32, 4]
    total: int32 @ Stateful = 100

    @df.kernel(mapping=[1], args=[a])
    def send(x: int32[8]):
        for i in range(8):
            pipe.put(x[i])

    @df.kernel(mapping=[1], args=[b])
    def add(y: int32[8]):
        for i in range(8):
            total += pipe.get()
            y[i] = total


@df.region()
def history(a: int32[8], b: int32[8]):
    pipe: Stream[int32, 4]
    seen: int32[4] @ Stateful = START
    turn: int32 @ Stateful

    @df.kernel(mapping=[1], args=[a])
    def delay(x: int32[8]):
        for i in range(8):
            pipe.put(seen[i % 4])
            seen[i % 4] = x[i] + turn
        turn = turn + 1

    @df.kernel(mapping=[1], args=[b])
    def receive(y: int32[8]):
        for i in range(8):
            y[i] = pipe.get()


@df.region()
def lanes(a: int32[8], b: int32[8]):
    with allo.meta_for(2) as k:
        count: Fixed(16, 4) @ Stateful = 0.25

        @df.kernel(mapping=[1], args=[a, b])
        def lane(x: int32[8], y: int32[8]):
            for i in range(4):
                count += x[4 * k + i] * (k + 1)
                y[4 * k + i] = count * 4


@df.region()
def first_only(a: int32[8], b: int32[8]):
    calls: int32 @ Stateful = 0

    @df.kernel(mapping=[2], args=[a, b])
    def half(x: int32[8], y: int32[8]):
        p = df.get_pid()
        more: int32 = 0
        with allo.meta_if(p == 0):
            calls += 1
            more = calls
        for i in range(4):
            y[4 * p + i] = x[4 * p + i] + more


def expected_history(calls):
    seen, found = list(START), []
    for turn in range(calls):
        row = []
        for i in range(8):
            row.append(seen[i % 4])
            seen[i % 4] = A[i] + turn
        found.append(row)
    return found


def expected_lanes(calls):
    counts, found = [1, 1], []
    for _ in range(calls):
        row = []
        for k in (0, 1):
            for i in range(4):
                counts[k] += 4 * int(A[4 * k + i]) * (k + 1)
                row.append(counts[k])
        found.append(row)
    return found


SUMS = np.cumsum(A)
PROGRAMS = {
    "running": (running, [SUMS + 100, SUMS + 100 + SUMS[-1]]),
    "history": (history, expected_history(2)),
    "lanes": (lanes, expected_lanes(2)),
    "first_only": (first_only, [A + np.repeat([1, 0], 4), A + np.repeat([2, 0], 4)]),
}


@pytest.mark.parametrize("target", ["oracle", "simulator", "vhls", "vitis_hls", "verilog"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_state_is_kept_between_calls(program, target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    region, expected = program
    mod = (
        allo.interpret(region)
        if target == "oracle"
        else df.build(region, target=target, **engine(target))
    )
    for row in expected:
        b = np.zeros(8, np.int32)
        mod(A, b)
        np.testing.assert_array_equal(b, row)


def test_a_new_build_starts_anew():
    for _ in range(2):
        b = np.zeros(8, np.int32)
        df.build(running, target="simulator")(A, b)
        np.testing.assert_array_equal(b, SUMS + 100)


def test_the_state_is_a_static_variable_of_its_kernel():
    code = df.build(running, target="vhls").hls_code
    body = code.split("void add_0(")[1]
    assert "static int32_t stateful_add_total_1 = 100;" in body.split("void ")[0]


def test_state_of_two_kernels_is_refused():
    @df.region()
    def shared(a: int32[8], b: int32[8]):
        total: int32 @ Stateful = 0

        @df.kernel(mapping=[1], args=[a])
        def one(x: int32[8]):
            total += x[0]

        @df.kernel(mapping=[1], args=[b])
        def two(y: int32[8]):
            y[0] = total

    with pytest.raises(DataflowError) as caught:
        df.customize(shared)
    assert caught.value.message == "The state total of the region is used by one_0 and two_0."
    assert (caught.value.help or "").endswith("or send its value by a stream.")


def test_state_of_two_instances_is_refused():
    @df.region()
    def shared(a: int32[8]):
        total: int32 @ Stateful = 0

        @df.kernel(mapping=[2], args=[a])
        def one(x: int32[8]):
            total += x[0]

    with pytest.raises(DataflowError, match="used by one_0 and one_1"):
        df.customize(shared)


def test_an_initial_value_that_is_not_known_is_refused():
    @df.region()
    def unknown(a: int32[8], n: int32):
        total: int32 @ Stateful = n

        @df.kernel(mapping=[1], args=[a])
        def one(x: int32[8]):
            x[0] = total

    with pytest.raises(CompileTimeError) as caught:
        df.customize(unknown)
    assert caught.value.message == (
        "Stateful variable 'total' must be initialized with a compile-time constant."
    )
