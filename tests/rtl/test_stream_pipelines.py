"""Pipelines with streams wait where their program waits: no deadlock of hardware's own making."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import Stream, int32

N = 6


@df.region()
def fork_join(A: int32[2], B: int32[2]):
    f: Stream[int32, 1]
    g: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def p(a: int32[2]):
        for i in range(2):
            f.put(a[i])
        for j in range(2):
            g.put(a[j])

    @df.kernel(mapping=[1], args=[B])
    def q(b: int32[2]):
        for t in range(2):
            x: int32 = f.get()
            y: int32 = g.get()
            b[t] = x + y


@df.region()
def request(A: int32[N], B: int32[N]):
    """A request leaves in the cycle in which its iteration begins."""
    ask: Stream[int32, 1]
    answer: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[B])
    def client(b: int32[N]):
        for t in range(N):
            at: int32 = N - 1 - t
            ask.put(at)
            b[t] = answer.get()

    @df.kernel(mapping=[1], args=[A])
    def server(a: int32[N]):
        for t in range(N):
            k: int32 = ask.get()
            answer.put(a[k])


@df.region()
def late_request(A: int32[N], B: int32[N]):
    """A request that is computed first."""
    ask: Stream[int32, 1]
    answer: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[B])
    def client(b: int32[N]):
        for t in range(N):
            at: int32 = b[t]
            ask.put(at)
            b[t] = answer.get() * 3

    @df.kernel(mapping=[1], args=[A])
    def server(a: int32[N]):
        for t in range(N):
            k: int32 = ask.get()
            answer.put(a[k])


@df.region()
def two_ways(A: int32[N], B: int32[N]):
    """A put without room must not keep the iteration from taking its word."""
    f: Stream[int32, 1]
    h: Stream[int32, 1]
    sign: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def p(a: int32[N]):
        for i in range(3):
            f.put(a[i])
        sign.put(a[0])
        for j in range(3, N):
            f.put(a[j])

    @df.kernel(mapping=[1])
    def q():
        for t in range(N):
            x: int32 = f.get()
            h.put(x)

    @df.kernel(mapping=[1], args=[B])
    def r(b: int32[N]):
        s: int32 = sign.get()
        for k in range(N):
            b[k] = h.get() + s


@df.region()
def chosen(A: int32[N], B: int32[N]):
    """Words taken and given under conditions, in turn."""
    f: Stream[int32, 1]
    g: Stream[int32, 1]
    h: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def p(a: int32[N]):
        for i in range(N):
            if i % 2 == 0:
                f.put(a[i])
            else:
                g.put(a[i])

    @df.kernel(mapping=[1])
    def q():
        for t in range(N):
            x: int32 = 0
            if t % 2 == 0:
                x = f.get()
            else:
                x = g.get()
            h.put(x)

    @df.kernel(mapping=[1], args=[B])
    def r(b: int32[N]):
        for k in range(N):
            b[k] = h.get()


CASES = {
    "fork_join": (fork_join, ["q_0:t"], lambda a, b: 2 * a),
    "request": (request, ["client_0:t", "server_0:t"], lambda a, b: a[::-1]),
    "late_request": (late_request, ["client_0:t", "server_0:t"], lambda a, b: 3 * a[b]),
    "two_ways": (two_ways, ["q_0:t"], lambda a, b: a + a[0]),
    "chosen": (chosen, ["p_0:i", "q_0:t", "r_0:k"], lambda a, b: a),
}


def run(case: str, **options: object) -> int | None:
    region, loops, want = CASES[case]
    s = df.customize(region)
    for loop in loops:
        s.pipeline(loop)
    module = s.build(**options)
    size = 2 if case == "fork_join" else N
    for call in range(2):
        a = np.arange(size, dtype=np.int32) * 7 + call
        b = np.random.default_rng(call).permutation(size).astype(np.int32)
        expected = want(a, b)
        module(a, b)
        np.testing.assert_array_equal(b, expected)
    return getattr(module, "cycles", None)


@pytest.mark.parametrize("case", CASES)
def test_a_pipeline_ends_where_its_program_does(case: str):
    run(case, target="simulator")
    run(case, target="verilog", simulator="jit", max_cycles=5_000)


@pytest.mark.parametrize("case", ["fork_join", "request"])
def test_csim_agrees(case: str):
    run(case, target="vhls")


def test_both_engines_agree_on_waiting_in_front():
    cycles = {run("chosen", target="verilog", simulator=e) for e in ("jit", "verilator")}
    assert len(cycles) == 1


def test_an_answer_that_a_pipeline_would_wait_for_keeps_it_from_overlapping():
    s = df.customize(late_request)
    s.pipeline("client_0:t")
    report = s.build(target="verilog").report
    loop = next(f for f in report.functions if f.name == "client_0").loops[0]
    assert not loop.pipelined
    here = Path(__file__).name
    text = Path(__file__).read_text().splitlines()
    put = [number for number, line in enumerate(text, 1) if "ask.put(at)" in line][1]
    assert loop.limit.partition("; ")[0] == (
        f"not pipelined: answer is read ({here}:{put + 1}:20) after ask is written "
        f"({here}:{put}:21), perhaps in answer to it"
    )


def test_waiting_in_front_costs_no_cycle():
    """One iteration a cycle where every word is there."""

    @df.region()
    def stream(A: int32[64], B: int32[64]):
        f: Stream[int32, 4]
        g: Stream[int32, 4]

        @df.kernel(mapping=[1], args=[A])
        def p(a: int32[64]):
            for i in range(64):
                f.put(a[i])
                g.put(a[i])

        @df.kernel(mapping=[1], args=[B])
        def q(b: int32[64]):
            for t in range(64):
                x: int32 = f.get()
                b[t] = x + g.get()

    s = df.customize(stream)
    s.pipeline("p_0:i")
    s.pipeline("q_0:t")
    module = s.build(target="verilog", simulator="jit")
    a, b = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    module(a, b)
    np.testing.assert_array_equal(b, 2 * a)
    assert module.cycles is not None and module.cycles <= 72


def pairs(x: Stream[int32, 4], y: Stream[int32, 4]):
    for t in range(2):
        word: int32 = x.get() + x.get()
        y.put(word)


@pytest.mark.parametrize("engine", ["jit", "verilator"])
def test_a_word_taken_ahead_from_outside_is_dropped(engine: str):
    s = allo.customize(pairs)
    s.pipeline("t")
    module = s.build(target="verilog", simulator=engine)
    for call in range(3):
        x, y = np.arange(6, dtype=np.int32) + 10 * call, np.zeros(2, np.int32)
        module(x, y)
        assert y.tolist() == [x[0] + x[1], x[2] + x[3]]
        assert module.traffic.streams["x"].words > 4
