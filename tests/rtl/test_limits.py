"""Every limit that a report may name says what helps: each on a program that has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import allo
import allo.dataflow as df
from allo.backend.rtl.plan.limits import LIMITS, markdown
from allo.dialects.reports.figures import LoopReport
from allo.ir.types import Stream, float32, int32

N = 32


def total(a: float32[N]) -> float32:
    x: float32 = 0.0
    for i in range(N):
        x += a[i]
    return x


def histogram(a: int32[N], h: float32[N]):
    for i in range(N):
        h[a[i]] += 1.0


def twice(a: int32[N], h: int32[N]):
    x: int32[N]
    for i in range(N // 2):
        x[i] = a[i]
        x[N - 1 - i] = a[i]
    for j in range(N):
        h[j] = x[j]


def filtered(a: float32[N], y: float32[N]):
    for i in range(1, N):
        y[i] = y[i - 1] * 0.5 + a[i]


def pointers(g: int32[N], h: int32[N]):
    for i in range(16):
        p: int32 = h[g[i]]
        q: int32 = h[p]
        s: int32 = 0
        for j in range(3):
            s = s + h[i + j]
        h[q] = s + p


def rows(a: int32[N, 8], y: int32[N]):
    for i in range(N):
        s: int32 = 0
        for j in range(8):
            s += a[i, j]
        y[i] = s


def window(a: int32[N], y: int32[N]):
    for i in range(N - 2):
        y[i] = a[i] + a[i + 1] + a[i + 2]


def gathered(a: int32[N], f: int32[N], g: int32[N], h: int32[N], y: int32[N]):
    for i in range(N):
        y[i] = a[f[i]] + a[g[i]] + a[h[i]]


def scattered(a: int32[N], y: int32[N]):
    for i in range(N - 3):
        y[i] = a[i]
        y[i + 1] = a[i] + 3
        y[i + 3] = a[i] - 2


def rest(a: float32[N], b: float32[N], y: float32[N]):
    for i in range(N):
        y[i] = a[i] % b[i]


def steps(a: int32[N], n: int32) -> int32:
    at: int32 = 0
    while a[at] > n:
        a[at] = a[at] - 1
        at = a[at] & 7
    return at


def sums(a: int32[8, 8], n: int32) -> int32:
    x: int32 = 0
    r: int32 = 0
    while r < n:
        for i in range(8):
            x += a[r, i]
        r += 1
    return x


def reduced(a: int32[N], y: int32[N]):
    for i in range(N):
        n: int32 = a[i]
        while n > 9:
            n = n - 7
        y[i] = n


def added(a: int32[8, 8], x: int32[8], r: int32):
    for i in range(8):
        x[i] = x[i] + a[r, i]


def calling(a: int32[8, 8], x: int32[8]):
    for i in range(8):
        added(a, x, i)


def moved(a: int32[8], y: int32[8], n: int32):
    r: int32 = 0
    while r < n:
        y[:] = a
        a[r] = 1
        r += 1


@df.region()
def asking(A: int32[N], B: int32[N]):
    """A process that puts what it computes, then gets what another one may give in answer."""
    f: Stream[int32, 4]
    g: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A, B])
    def ask(a: int32[N], b: int32[N]):
        for i in range(N):
            f.put(a[i] * a[i])
            b[i] = g.get()

    @df.kernel(mapping=[1])
    def answer():
        seen: int32[N]
        n: int32 = 0
        while n < N:
            seen[n] = f.get()
            g.put(seen[n // 2] + 1)
            n += 1


@df.region()
def giving(A: int32[N], B: int32[N]):
    """A process that gives two words at once, and one that stops at a word."""
    f: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A])
    def give(a: int32[N]):
        for i in range(N):
            f.put(a[i])
            f.put(a[i] + 1)

    @df.kernel(mapping=[1], args=[B])
    def take(b: int32[N]):
        for i in range(2 * N):
            x: int32 = f.get()
            if x == 7:
                break
            b[i // 2] = x


@df.region()
def choosing(A: int32[N], B: int32[N]):
    """Gets where data say so, and waits beside tries, in the same loop and in another one."""
    f: Stream[int32, 4]
    g: Stream[int32, 4]
    h: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A])
    def give(a: int32[N]):
        for i in range(N):
            f.put(a[i])
            h.put(a[i])
            h.put(a[i])

    @df.kernel(mapping=[1])
    def take():
        for i in range(N):
            x: int32 = f.get()
            if x > 3:
                y: int32 = f.get()
                x += y
            g.put(x)

    @df.kernel(mapping=[1], args=[B])
    def end(b: int32[N]):
        for i in range(N):
            b[i] = g.get() + (1 if g.empty() else 0)
        for j in range(N):
            b[j] += h.get() + h.get()
        while not h.empty():
            b[0] += h.get()


PROGRAMS: dict[str, tuple[Any, str]] = {
    "sum": (total, "i"),
    "unknown": (histogram, "i"),
    "chain": (filtered, "i"),
    "busy": (pointers, "i"),
    "ports": (rows, "i"),
    "reads": (window, "i"),
    "gathers": (gathered, "i"),
    "writes": (scattered, "i"),
    "one_writes": (twice, "i"),
    "unit": (rest, "i"),
    "gains nothing": (steps, ""),
    "holds a loop": (sums, ""),
    "holds a while loop": (reduced, ""),
    "holds a call": (calling, ""),
    "holds a move of an array": (moved, ""),
    "words": (giving, "give_0:i"),
    "ahead": (giving, "take_0:i"),
    "waits": (asking, ""),
    "answer": (asking, "ask_0:i"),
    "data": (choosing, "take_0:i"),
    "asked": (choosing, "end_0:i"),
    "asked elsewhere": (choosing, "end_0:j"),
}
REGIONS = (asking, giving, choosing)


def loops(found: list[LoopReport]) -> Iterator[LoopReport]:
    for loop in found:
        yield loop
        yield from loops(loop.children)


def pattern(kind: str) -> str:
    """The sentence of a kind of limit, anything in its gaps."""
    row = LIMITS[kind]
    return re.sub(r"\\\{\w+\\\}", ".+", re.escape(f"{row.what}; {row.help}"))


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_limit_says_what_helps(kind: str):
    program, pipelined = PROGRAMS[kind]
    s = (df if program in REGIONS else allo).customize(program)
    if pipelined:
        s.pipeline(pipelined)
    on_ice40 = {"device": "ice40", "clock_mhz": 50}
    report = s.build(target="verilog", configs=on_ice40 if kind == "one_writes" else {}).report
    found = [loop.limit for f in report.functions for loop in loops(f.loops)]
    assert any(re.fullmatch(pattern(kind), limit) for limit in found), found


def test_every_limit_has_a_program():
    assert PROGRAMS.keys() == LIMITS.keys()


def test_the_page_shows_every_limit():
    page = Path(__file__).parents[2] / "docs" / "rtl.md"
    assert markdown() in page.read_text()
