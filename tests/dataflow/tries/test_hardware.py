"""In hardware a loop that asks without waiting never stalls, and both engines find the same."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo.dataflow as df
from allo.ir.types import Stream, int32, uint1
from tests.dataflow.tries.programs import MERGES, N

A = np.arange(1, N + 1, dtype=np.int32)
B = np.arange(101, 101 + N, dtype=np.int32)
POLLS = 64
SAMPLES = 160


@pytest.mark.parametrize("name", MERGES)
def test_both_engines_agree_word_for_word(name):
    found = []
    for simulator in ("jit", "verilator"):
        module = df.build(MERGES[name], "verilog", simulator=simulator)
        merged = np.zeros(2 * N, np.int32)
        module(A, B, merged)
        found.append((merged, module.cycles))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


def loop_of(module, name):
    """What the report says of the loop, the only one of its name in the last process that has one."""
    loops = [loop for function in module.report.functions for loop in function.loops]
    return [loop for loop in loops if loop.name.endswith(name)][-1]


@df.region()
def sampled(a: int32[N], seen: int32[SAMPLES], marks: int32[SAMPLES]):
    pipe: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[a])
    def send(x: int32[N]):
        for i in range(N):
            total: int32 = 0
            for j in range(3):
                total += x[i]
            pipe.put(total)

    @df.kernel(mapping=[1], args=[seen, marks])
    def sample(y: int32[SAMPLES], m: int32[SAMPLES]):
        for t in range(SAMPLES):
            v, ok = pipe.try_get()
            y[t] = v
            m[t] = ok


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_a_pipelined_loop_asks_every_cycle_and_never_stalls(simulator):
    s = df.customize(sampled)
    s.pipeline("sample_0:t")
    module = s.build("verilog", simulator=simulator)
    assert loop_of(module, "t").ii == 1
    seen, marks = np.zeros(SAMPLES, np.int32), np.full(SAMPLES, 5, np.int32)
    module(A, seen, marks)
    assert module.cycles <= SAMPLES + 16
    assert set(marks) == {0, 1}
    np.testing.assert_array_equal(seen[marks == 1], 3 * A[: int(marks.sum())])
    assert not seen[marks == 0].any()


@df.region()
def dropping(a: int32[POLLS], b: int32[POLLS], counts: int32[2]):
    pipe: Stream[int32, 2]
    last: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[a, counts])
    def send(x: int32[POLLS], n: int32[2]):
        done: int32 = 0
        for t in range(POLLS):
            ok = pipe.try_put(x[t])
            done += 1 if ok else 0
        last.put(done)
        n[0] = done

    @df.kernel(mapping=[1], args=[b, counts])
    def take(y: int32[POLLS], n: int32[2]):
        expected: int32 = -1
        taken: int32 = 0
        while expected != taken:
            v, ok = pipe.try_get()
            if ok:
                total: int32 = 0
                for j in range(4):
                    total += v
                y[taken] = total // 4
                taken += 1
            if expected < 0:
                e, told = last.try_get()
                if told:
                    expected = e
        n[1] = taken


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_a_pipelined_producer_drops_and_counts(simulator):
    s = df.customize(dropping)
    s.pipeline("send_0:t")
    module = s.build("verilog", simulator=simulator)
    values, got = np.arange(1, POLLS + 1, dtype=np.int32), np.zeros(POLLS, np.int32)
    counts = np.zeros(2, np.int32)
    module(values, got, counts)
    assert counts[0] == counts[1] and 0 < counts[0] < POLLS
    taken = got[: counts[0]]
    assert np.all(np.diff(taken) > 0) and np.all(np.isin(taken, values))


@df.region()
def two_lanes(a: int32[N], b: int32[N], merged: int32[2 * N]):
    lanes: Stream[int32, 2][2]
    out: Stream[int32, 2 * N]

    @df.kernel(mapping=[2], args=[a, b])
    def send(x: int32[N], y: int32[N]):
        p = df.get_pid()
        for i in range(N):
            lanes[p].put(x[i] if p == 0 else y[i])

    @df.kernel(mapping=[1])
    def merge():
        turn: uint1 = 0
        for t in range(8 * N):
            if turn == 0:
                v, ok = lanes[0].try_get()
                if ok:
                    out.try_put(v)
            else:
                w, found = lanes[1].try_get()
                if found:
                    out.try_put(w)
            turn = 1 - turn

    @df.kernel(mapping=[1], args=[merged])
    def collect(z: int32[2 * N]):
        for i in range(2 * N):
            z[i] = out.get()


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_a_pipelined_arbiter(simulator):
    s = df.customize(two_lanes)
    s.pipeline("merge_0:t")
    module, merged = s.build("verilog", simulator=simulator), np.zeros(2 * N, np.int32)
    module(A, B, merged)
    for lane in (A, B):
        np.testing.assert_array_equal(merged[np.isin(merged, lane)], lane)
    assert module.cycles < 8 * N * 3


def limits(region, loop):
    """The module, and why the loop is not pipelined."""
    s = df.customize(region)
    s.pipeline(loop)
    module = s.build("verilog", simulator="jit")
    name = loop.split(":")[1]
    return module, loop_of(module, name).limit


def test_a_loop_that_waits_after_it_tried_is_not_pipelined():
    @df.region()
    def answers(a: int32[N], b: int32[N]):
        requests: Stream[int32, 2]
        replies: Stream[int32, 2]

        @df.kernel(mapping=[1])
        def serve():
            for i in range(N):
                replies.put(requests.get() + 1)

        @df.kernel(mapping=[1], args=[a, b])
        def ask(x: int32[N], y: int32[N]):
            for i in range(N):
                requests.try_put(x[i])
                y[i] = replies.get()

    module, limit = limits(answers, "ask_0:i")
    got = np.zeros(N, np.int32)
    module(A, got)
    np.testing.assert_array_equal(got, A + 1)
    assert re.fullmatch(
        r"not pipelined: replies is read, which waits \(.*\), and requests is asked without "
        r"waiting \(.*\); wait first, or never: .*",
        limit,
    )


def test_a_loop_that_waits_for_and_asks_one_stream_is_not_pipelined():
    @df.region()
    def guarded(a: int32[N], b: int32[1]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[a])
        def send(x: int32[N]):
            for i in range(N):
                pipe.put(x[i])

        @df.kernel(mapping=[1], args=[b])
        def take(y: int32[1]):
            total: int32 = 0
            early: int32 = 0
            for i in range(N):
                total += pipe.get()
                early += 1 if pipe.empty() else 0
            y[0] = total

    module, limit = limits(guarded, "take_0:i")
    got = np.zeros(1, np.int32)
    module(A, got)
    assert got[0] == A.sum()
    assert limit.startswith("not pipelined: pipe is read, which waits (")
    assert "and pipe is asked without waiting (" in limit


def test_a_loop_left_early_asks_no_more():
    @df.region()
    def early(a: int32[N], b: int32[N], left: int32[1]):
        pipe: Stream[int32, N]
        go: Stream[uint1, 1]

        @df.kernel(mapping=[1], args=[a])
        def send(x: int32[N]):
            for i in range(N):
                pipe.put(x[i])
            go.put(1)

        @df.kernel(mapping=[1], args=[b, left])
        def take(y: int32[N], rest: int32[1]):
            start: uint1 = go.get()
            for t in range(N):
                v, ok = pipe.try_get()
                if v == 5:
                    break
                y[t] = v
            n: int32 = 0
            for u in range(N):
                w, found = pipe.try_get()
                n += 1 if found else 0
            rest[0] = n if start else 0

    s = df.customize(early)
    s.pipeline("take_0:t")
    got, left = np.zeros(N, np.int32), np.zeros(1, np.int32)
    s.build("verilog", simulator="jit")(A, got, left)
    np.testing.assert_array_equal(got, np.where(A < 5, A, 0))
    assert left[0] == N - 5
