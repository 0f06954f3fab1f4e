"""Regions whose processes ask a stream without waiting, and what must hold of their results."""

from __future__ import annotations

import allo
import allo.dataflow as df
from allo.ir.types import ConstExpr, Stream, UInt, index, int32, uint1

N = 16


@df.region()
def arbiter(a: int32[N], b: int32[N], merged: int32[2 * N]):
    """Two producers of their own pace, taken from in turn where both have something."""
    lanes: Stream[int32, 2][2]
    out: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[a])
    def fast(x: int32[N]):
        for i in range(N):
            lanes[0].put(x[i])

    @df.kernel(mapping=[1], args=[b])
    def slow(y: int32[N]):
        for i in range(N):
            total: int32 = 0
            for j in range(5):
                total += y[i] * j
            lanes[1].put(total)

    @df.kernel(mapping=[1])
    def arbitrate():
        turn: uint1 = 0
        taken: int32 = 0
        while taken < 2 * N:
            if turn == 0:
                v, ok = lanes[0].try_get()
                if ok:
                    out.put(v)
                    taken += 1
            else:
                w, found = lanes[1].try_get()
                if found:
                    out.put(w)
                    taken += 1
            turn = 1 - turn

    @df.kernel(mapping=[1], args=[merged])
    def collect(z: int32[2 * N]):
        for i in range(2 * N):
            z[i] = out.get()


@df.region()
def priority(a: int32[N], b: int32[N], merged: int32[2 * N]):
    """The first lane as long as it has something; the second where the first is empty."""
    urgent: Stream[int32, 2]
    other: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[a])
    def first(x: int32[N]):
        for i in range(N):
            urgent.put(x[i])

    @df.kernel(mapping=[1], args=[b])
    def second(y: int32[N]):
        for i in range(N):
            other.put(10 * y[i])

    @df.kernel(mapping=[1], args=[merged])
    def choose(z: int32[2 * N]):
        taken: int32 = 0
        while taken < 2 * N:
            if not urgent.empty():
                z[taken] = urgent.get()
                taken += 1
            elif not other.empty():
                z[taken] = other.get()
                taken += 1


@df.region()
def many(a: int32[N], b: int32[N], merged: int32[2 * N]):
    """Four producers, each a process of one kernel, and one that asks all of them in turn."""
    lanes: Stream[int32, 1][4]

    @df.kernel(mapping=[4], args=[a, b])
    def produce(x: int32[N], y: int32[N]):
        p = df.get_pid()
        half: ConstExpr[index] = p % 2
        for i in range(N // 2):
            if p < 2:
                lanes[p].put(x[half * (N // 2) + i])
            else:
                lanes[p].put(10 * y[half * (N // 2) + i])

    @df.kernel(mapping=[1], args=[merged])
    def choose(z: int32[2 * N]):
        taken: int32 = 0
        while taken < 2 * N:
            with allo.meta_for(4) as k:
                v, ok = lanes[k].try_get()
                if ok:
                    z[taken] = v
                    taken += 1


MERGES = {"arbiter": arbiter, "priority": priority, "many": many}


@df.region()
def timeouts(a: int32[N], answers: int32[N], late: int32[1]):
    """A client that gives up an answer after 200 tries, and a server that keeps silent to some."""
    requests: Stream[int32, 2]
    replies: Stream[int32, 2]

    @df.kernel(mapping=[1])
    def server():
        for _ in range(N):
            r: int32 = requests.get()
            if r % 3 != 0:
                replies.put(r * r)

    @df.kernel(mapping=[1], args=[a, answers, late])
    def client(x: int32[N], y: int32[N], z: int32[1]):
        missing: int32 = 0
        for i in range(N):
            requests.put(x[i])
            tries: int32 = 0
            found: uint1 = 0
            while found == 0 and tries < 200:
                v, found = replies.try_get()
                y[i] = v
                tries += 1
            if found == 0:
                missing += 1
        z[0] = missing


@df.region()
def drops(a: int32[4 * N], received: int32[4 * N], counts: int32[3]):
    """A producer that drops what finds no room, and a consumer slower than it."""
    pipe: Stream[int32, 2]
    last: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[a, counts])
    def produce(x: int32[4 * N], n: int32[3]):
        done: int32 = 0
        lost: int32 = 0
        for i in range(4 * N):
            if pipe.try_put(x[i]):
                done += 1
            else:
                lost += 1
        last.put(done)
        n[0] = done
        n[1] = lost

    @df.kernel(mapping=[1], args=[received, counts])
    def consume(y: int32[4 * N], n: int32[3]):
        expected: int32 = -1
        taken: int32 = 0
        while expected != taken:
            v, ok = pipe.try_get()
            if ok:
                total: int32 = 0
                for j in range(7):
                    total += v * (j - 3) * (j - 3)
                y[taken] = total // 28
                taken += 1
            if expected < 0:
                e, told = last.try_get()
                if told:
                    expected = e
        n[2] = taken


@df.region()
def stopped(limit: int32, results: int32[N], count: int32[1]):
    """A worker that runs until it is told by a stream of commands to stop."""
    commands: Stream[UInt(1), 1]
    done: Stream[int32, 2]

    @df.kernel(mapping=[1])
    def worker():
        running: uint1 = 1
        n: int32 = 0
        while running == 1:
            if done.try_put(n * n):
                n += 1
            stop, told = commands.try_get()
            if told and stop:
                running = 0

    @df.kernel(mapping=[1], args=[results, count])
    def control(y: int32[N], c: int32[1]):
        taken: int32 = 0
        for i in range(N):
            if i < limit:
                y[i] = done.get()
                taken += 1
        commands.put(1)
        c[0] = taken


@df.region()
def balanced(a: int32[N], sums: int32[2], shares: int32[1]):
    """Work for whichever of two workers has room, and an end for both."""
    queues: Stream[int32, 2][2]

    @df.kernel(mapping=[1], args=[a, shares])
    def dispatch(x: int32[N], s: int32[1]):
        first: int32 = 0
        i: int32 = 0
        while i < N:
            if not queues[0].full():
                queues[0].put(x[i])
                first += 1
                i += 1
            elif not queues[1].full():
                queues[1].put(x[i])
                i += 1
        queues[0].put(-1)
        queues[1].put(-1)
        s[0] = first

    @df.kernel(mapping=[2], args=[sums])
    def work(z: int32[2]):
        p = df.get_pid()
        total: int32 = 0
        v: int32 = queues[p].get()
        while v >= 0:
            total += v
            v = queues[p].get()
        z[p] = total
