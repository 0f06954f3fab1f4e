"""Operations of one stream under conditions that exclude each other share its port; any others take turns."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import allo.dataflow as df
from allo.ir.types import Stream, int32, uint1

N = 24


@df.region()
def two_tries(a: int32[N], c: int32[N], seen: int32[N], told: int32[N]):
    """No word leaves the stream before all were tried, so that it is full from some iteration on."""
    pipe: Stream[int32, N // 2]
    done: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[a, c, told])
    def send(x: int32[N], w: int32[N], m: int32[N]):
        for t in range(N):
            ok: int32 = 5
            if w[t] > 0:
                ok = pipe.try_put(x[t])
            elif w[t] > -7:
                ok = 2 + pipe.try_put(x[t] * w[t])
            m[t] = ok
        done.put(1)

    @df.kernel(mapping=[1], args=[seen])
    def take(y: int32[N]):
        start: int32 = done.get()
        for t in range(N):
            v, ok = pipe.try_get()
            y[t] = v if ok else -start


@df.region()
def two_puts(a: int32[N], c: int32[N], seen: int32[N], told: int32[N]):
    """Words that are there at once, in the cycle in which the iteration begins."""
    pipe: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[])
    def send():
        for t in range(N):
            if t % 3 == 1:
                pipe.put(t)
            else:
                pipe.put(7 * t)

    @df.kernel(mapping=[1], args=[a, c, seen, told])
    def take(x: int32[N], w: int32[N], y: int32[N], m: int32[N]):
        for u in range(N):
            total: int32 = 0
            for j in range(u % 4):
                total += x[u] * w[j]
            m[u] = total
            y[u] = pipe.get()


@df.region()
def late_puts(a: int32[N], c: int32[N], seen: int32[N], told: int32[N]):
    """Three, of which one comes cycles later than the others, and another stream between them."""
    pipe: Stream[int32, 2]
    other: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[a, c])
    def send(x: int32[N], w: int32[N]):
        for t in range(N):
            large: uint1 = w[t] > 3
            if large:
                pipe.put(x[t] // 7)
            other.put(x[t])
            if not large:
                if x[t] > 0:
                    pipe.put(x[t])
                else:
                    pipe.put(w[t])

    @df.kernel(mapping=[1], args=[seen, told])
    def take(y: int32[N], m: int32[N]):
        for t in range(N):
            m[t] = other.get()
            y[t] = pipe.get()


@df.region()
def two_gets(a: int32[N], c: int32[N], seen: int32[N], told: int32[N]):
    """What is read in each of two branches."""
    pipe: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[a])
    def send(x: int32[N]):
        for u in range(N):
            total: int32 = 0
            for j in range(u % 3 + 1):
                total += x[u]
            pipe.put(total)

    @df.kernel(mapping=[1], args=[c, seen, told])
    def take(w: int32[N], y: int32[N], m: int32[N]):
        for t in range(N):
            got: int32 = w[t]
            if t % 2 == 1:
                got = pipe.get()
            else:
                got = pipe.get() * 3
            y[t] = got


@df.region()
def unrelated(a: int32[N], c: int32[N], seen: int32[N], told: int32[N]):
    """Two conditions that hold together now and then."""
    pipe: Stream[int32, 2 * N]
    done: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[a, c, told])
    def send(x: int32[N], w: int32[N], m: int32[N]):
        for t in range(N):
            ok: int32 = 0
            if w[t] > 0:
                ok = pipe.try_put(x[t])
            if x[t] > 0:
                ok += 2 * pipe.try_put(w[t])
            m[t] = ok
        done.put(1)

    @df.kernel(mapping=[1], args=[seen])
    def take(y: int32[N]):
        start: int32 = done.get()
        for t in range(N):
            v, ok = pipe.try_get()
            y[t] = v if ok else -start


@df.region()
def again(a: int32[N], c: int32[N], seen: int32[N], told: int32[N]):
    """The second is tried where the first found no room: after it, and in the same iteration."""
    pipe: Stream[int32, N // 2]
    done: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[a, c, told])
    def send(x: int32[N], w: int32[N], m: int32[N]):
        for t in range(N):
            ok = pipe.try_put(x[t])
            found: int32 = ok
            if not ok:
                found = 2 + pipe.try_put(w[t])
            m[t] = found
        done.put(1)

    @df.kernel(mapping=[1], args=[seen])
    def take(y: int32[N]):
        start: int32 = done.get()
        for t in range(N):
            v, ok = pipe.try_get()
            y[t] = v if ok else -start


CASES = {
    "two_tries": (two_tries, "send_0:t", 1),
    "two_puts": (two_puts, "send_0:t", 1),
    "late_puts": (late_puts, "send_0:t", 1),
    "two_gets": (two_gets, "take_0:t", 1),
    "unrelated": (unrelated, "send_0:t", 2),
    "again": (again, "send_0:t", 2),
}


def _arrays(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    given = [rng.integers(-9, 10, N, dtype=np.int32) for _ in range(2)]
    return [*given, np.zeros(N, np.int32), np.zeros(N, np.int32)]


def _scheduled(case: str) -> Any:
    region, loop, _ = CASES[case]
    schedule = df.customize(region)
    schedule.pipeline(loop)
    return schedule


def _loop(module: Any, case: str) -> Any:
    process, name = CASES[case][1].split(":")
    functions = [f for f in module.report.functions if process.removesuffix("_0") in f.name]
    return next(loop for f in functions for loop in f.loops if loop.name.endswith(name))


@pytest.mark.parametrize(
    ("case", "simulator"),
    [*((case, "jit") for case in CASES), ("two_tries", "verilator"), ("late_puts", "verilator")],
)
def test_hardware_passes_the_words_of_the_program(case: str, simulator: str) -> None:
    schedule = _scheduled(case)
    module, reference = schedule.build("verilog", simulator=simulator), schedule.build()
    for seed in range(4):
        ours, theirs = _arrays(seed), _arrays(seed)
        module(*ours)
        reference(*theirs)
        for mine, expected in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, expected)
    assert _loop(module, case).ii == CASES[case][2]


def test_tries_that_may_both_happen_take_turns() -> None:
    limit = _loop(_scheduled("unrelated").build("verilog", simulator="jit"), "unrelated").limit
    assert re.fullmatch(
        r"II=2: 2 puts of stream pipe \(.*test_exclusive_streams.py:\d+:\d+\)",
        limit.partition("; ")[0],
    )


def test_the_words_tell_when_conditions_are_taken_to_exclude_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The comparison above finds it: two words are offered in one cycle."""
    monkeypatch.setattr("allo.backend.rtl.plan.share.exclude", lambda a, b: a != b)
    schedule = _scheduled("unrelated")
    module = schedule.build("verilog", simulator="jit")
    ours, theirs = _arrays(0), _arrays(0)
    module(*ours)
    schedule.build()(*theirs)
    assert _loop(module, "unrelated").ii == 1
    assert (ours[2] != theirs[2]).any()
