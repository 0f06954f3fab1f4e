"""Regions whose cycles are foretold: known rates, rates that values decide, nets that stand still."""

from __future__ import annotations

from typing import Any

import numpy as np

import allo
import allo.dataflow as df
from allo.backend.sim.module import RTLModule
from allo.errors import DeadlockError
from allo.ir.types import Stream, int32

N = 12


@df.region()
def pipe(A: int32[N], B: int32[N]):
    """Two processes and a FIFO."""
    s: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for i in range(N):
            b[i] = s.get() * 3


@df.region()
def burst[D: int32](A: int32[N], B: int32[N]):
    """A sum that comes behind all words, and a way round it, of depth D, that has to hold them."""
    s: Stream[int32, 2]
    t: Stream[int32, D]
    u: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])
            t.put(a[i])

    @df.kernel(mapping=[1], args=[])
    def total():
        found: int32 = 0
        for i in range(N):
            found += s.get()
        for j in range(N):
            u.put(found)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for i in range(N):
            b[i] = u.get() + t.get()


def bursts(depth: int) -> Any:
    """The schedule of a :func:`burst` of a depth."""
    return df.customize(burst, instantiate=[depth])


@df.region()
def filtered(A: int32[N], B: int32[N]):
    """Values decide how many words pass, and the last one ends the sink."""
    s: Stream[int32, 2]
    t: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])
        s.put(-1)

    @df.kernel(mapping=[1], args=[])
    def keep():
        x: int32 = s.get()
        while x >= 0:
            if x % 3 != 0:
                t.put(x)
            x = s.get()
        t.put(-1)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        n: int32 = 0
        x: int32 = t.get()
        while x >= 0:
            b[n] = x
            n += 1
            x = t.get()


@df.region()
def divided(n: int32, A: int32[N], B: int32[N]):
    """A scalar says how many words there are, a quotient what is passed for each."""
    s: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(n):
            word: int32 = a[i] // 7
            s.put(word)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for i in range(n):
            x: int32 = s.get()
            for j in range(x % 4):
                b[i] += j


@df.region()
def crossed(A: int32[N], B: int32[N]):
    """Each process waits for the other one's first word."""
    s: Stream[int32, 2]
    t: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def left(a: int32[N]):
        for i in range(N):
            x: int32 = t.get()
            s.put(x + a[i])

    @df.kernel(mapping=[1], args=[B])
    def right(b: int32[N]):
        for i in range(N):
            b[i] = s.get()
            t.put(b[i])


@df.region()
def asked(A: int32[N], B: int32[N]):
    """What a process finds in a FIFO depends on the cycle in which it looks."""
    s: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        n: int32 = 0
        while n < N:
            x, there = s.try_get()
            if there:
                b[n] = x
                n += 1


@df.region()
def crowd(A: int32[N], B: int32[N], C: int32[N]):
    """Three processes that read one array, and one of them waits for words, too."""
    s: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[N]):
        for i in range(N):
            s.put(a[i])

    @df.kernel(mapping=[1], args=[A, B])
    def second(a: int32[N], b: int32[N]):
        for j in range(N):
            b[j] = a[N - 1 - j] + s.get()

    @df.kernel(mapping=[1], args=[A, C])
    def third(a: int32[N], c: int32[N]):
        for k in range(N):
            if a[k] > 20:
                c[k] = a[a[k] % N]


@df.region()
def opened(A: int32[N], B: int32[1], C: int32[1]):
    """Three processes that ask for words of one array, and then pass words in loops that ask for none."""
    s: Stream[int32, 2]
    t: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[N]):
        x: int32 = a[0]
        for i in range(N):
            s.put(x + i)

    @df.kernel(mapping=[1], args=[A, B])
    def second(a: int32[N], b: int32[1]):
        x: int32 = a[1]
        for j in range(N):
            x += s.get()
            t.put(x)
        b[0] = x

    @df.kernel(mapping=[1], args=[A, C])
    def third(a: int32[N], c: int32[1]):
        x: int32 = a[2]
        for k in range(N):
            x += t.get()
        c[0] = x


@df.region()
def circle(A: int32[N], B: int32[N]):
    """A word goes round until it is too small, so each process gives words to the one it waits for."""
    out: Stream[int32, 2]
    onward: Stream[int32, 2]
    back: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[N]):
        x: int32 = a[0]
        while x > 0:
            out.put(x)
            x = back.get()
        out.put(0)

    @df.kernel(mapping=[1], args=[])
    def second():
        x: int32 = out.get()
        while x > 0:
            onward.put(x)
            x = out.get()
        onward.put(0)

    @df.kernel(mapping=[1], args=[B])
    def third(b: int32[N]):
        n: int32 = 0
        x: int32 = onward.get()
        while x > 0:
            b[n] = x
            n += 1
            back.put(x - 3)
            x = onward.get()


@df.region()
def units(A: int32[2, N], B: int32[2, N]):
    """Two processes, each with a row of an array, whose words decide."""

    @df.kernel(mapping=[2], args=[A, B])
    def unit(a: int32[2, N], b: int32[2, N]):
        u = df.get_pid()
        for i in range(N - 1):
            for j in range(a[u, i] % 5):
                b[u, i] += j
            a[u, i + 1] = a[u, i + 1] + b[u, i]


@df.region()
def followed(A: int32[3, N], B: int32[3, N]):
    """Three processes at the ports of two arrays, each with a loop behind another one."""

    @df.kernel(mapping=[3], args=[A, B])
    def core(a: int32[3, N], b: int32[3, N]):
        p = df.get_pid()
        held: int32[N]
        for i in range(N):
            held[i] = a[p, i] + 1
        for i, j in allo.grid(3, N // 3):
            b[p, 3 * j + i] = held[3 * j + i] * a[p, j]


def counted(given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What :func:`units` makes of two arrays, the second of which holds zeros."""
    a, b = given.copy(), np.zeros_like(given)
    for i in range(N - 1):
        several = a[:, i] % 5
        b[:, i] = several * (several - 1) // 2
        a[:, i + 1] += b[:, i]
    return a, b


def dealt(
    n: int32, rest: int32, given: Stream[int32, 2], odd: Stream[int32, 2], left: Stream[int32, 2]
):
    """Its last words leave before it has counted a loop of the last turn that does not run."""
    for turn in range(2):
        for i in range(n):
            odd.put(given.get() * 12345 + 77)
        more: int32 = rest if turn == 0 else 0
        for j in range(more):
            left.put(given.get())


def hardware(schedule: Any, **options: Any) -> RTLModule:
    """The region in Verilog, run by the in-process engine."""
    module = schedule.build(target="verilog", simulator="jit", max_cycles=200_000, **options)
    assert isinstance(module, RTLModule)
    return module


def measured(module: RTLModule, *arguments: Any, engine: str = "jit") -> int | None:
    """The cycles of a simulated run, None where it deadlocks."""
    try:
        module(*arguments, simulator=engine)
    except DeadlockError:
        return None
    return module.cycles


def foretold(module: RTLModule, *arguments: Any) -> int | None:
    """The cycles of a run by the model, None where it deadlocks."""
    try:
        return module.predict(*arguments).cycles
    except DeadlockError:
        return None


def words(*values: int) -> np.ndarray:
    """An array of so many words, zeros behind the given ones."""
    found = np.zeros(N, np.int32)
    found[: len(values)] = values
    return found


@df.region()
def windows(keep: int32[40], same: int32[40], B: int32[72]):
    """Values decide at places that registers hold, which move with the counters of three loops."""
    s: Stream[int32, 2]
    sizes: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[keep])
    def source(k: int32[40]):
        for row in range(2):
            for i in range(4):
                for j in range(3):
                    if k[row * 20 + i * 5 + j] > 4:
                        s.put(i * 8 + j)
                    sizes.put((row * 12 + i * 3 + j + 4) // 5 + k[(row * 11 + i * 3 + j + 2) // 3])

    @df.kernel(mapping=[1], args=[same, B])
    def sink(k: int32[40], b: int32[72]):
        at: int32 = 0
        for row, i, j in allo.grid(2, 4, 3):
            if k[row * 20 + i * 5 + j] > 4:
                b[at] = s.get()
                at += 1
            wide: int32 = sizes.get()
            if wide > 6:
                for m in range(wide - 6):
                    b[at] += m
