"""What a call leaves in FIFOs and buffers is nothing to the next: on every target, in every nesting."""

from __future__ import annotations

import numpy as np
import pytest

import allo.dataflow as df
from allo.ir.types import Stream, int32

TARGETS = {
    "simulator": {"target": "simulator"},
    "csim": {"target": "vhls"},
    "jit": {"target": "verilog", "simulator": "jit"},
    "verilator": {"target": "verilog"},
}


@df.region()
def one_too_many(A: int32[4], B: int32[4]):
    f: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A])
    def p(a: int32[4]):
        for i in range(4):
            f.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def q(b: int32[4]):
        for i in range(3):
            b[i] = f.get()


@df.region()
def pairs(A: int32[5], B: int32[2]):
    f: Stream[int32, 5]

    @df.kernel(mapping=[1], args=[A])
    def p(a: int32[5]):
        for i in range(5):
            f.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def q(b: int32[2]):
        for t in range(2):
            b[t] = f.get() + f.get()


@df.region()
def inner(a: int32[4], b: int32[4]):
    f: Stream[int32, 3]

    @df.kernel(mapping=[1], args=[a])
    def p(a: int32[4]):
        for i in range(4):
            f.put(a[i])

    @df.kernel(mapping=[1], args=[b])
    def q(b: int32[4]):
        for i in range(2):
            b[i] = f.get()


@df.region()
def outer(A: int32[4], B: int32[4]):
    words: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def feed(a: int32[4]):
        for r in range(5):
            word: int32 = a[r % 4] + r
            words.put(word)

    @df.kernel(mapping=[1], args=[B])
    def use(b: int32[4]):
        x: int32[4] = 0
        y: int32[4] = 0
        for r in range(3):
            for i in range(4):
                x[i] = 10 * r + i
            x[0] = words.get()
            inner(x, y)
            b[r] = 100 * y[0] + y[1]


def words_of(a: np.ndarray) -> list[int]:
    """What ``outer`` leaves: the first words of each call of ``inner`` are those of that call."""
    return [int(100 * (a[r % 4] + r) + 10 * r + 1) for r in range(3)] + [0]


CASES = {
    "one_too_many": (one_too_many, (4, 4), "", lambda a: [*a[:3].tolist(), 0]),
    "pairs": (pairs, (5, 2), "q_0:t", lambda a: [int(a[0] + a[1]), int(a[2] + a[3])]),
    "outer": (outer, (4, 4), "", words_of),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("target", TARGETS)
def test_every_call_starts_with_empty_fifos(target: str, case: str):
    region, (taken, given), loop, want = CASES[case]
    s = df.customize(region)
    if loop:
        s.pipeline(loop)
    module = s.build(**TARGETS[target])
    for call in range(3):
        a, b = np.arange(taken, dtype=np.int32) + 10 * call + 1, np.zeros(given, np.int32)
        module(a, b)
        assert b.tolist() == want(a)


def two(words: Stream[int32, 8], b: int32[12], at: int32):
    for i in range(2):
        b[at + i] = words.get() + words.get()


@df.region()
def lent(A: int32[12], B: int32[12]):
    f: Stream[int32, 8]
    g: Stream[int32, 8]

    @df.kernel(mapping=[1], args=[A])
    def p(a: int32[12]):
        for i in range(12):
            f.put(a[i])
        for j in range(12):
            h: int32 = a[j] * 100
            g.put(h)

    @df.kernel(mapping=[1], args=[B])
    def q(b: int32[12]):
        two(f, b, 0)
        b[10] = f.get()
        two(g, b, 3)
        two(f, b, 6)


@pytest.mark.parametrize("target", ["simulator", "jit"])
def test_a_pipeline_in_a_called_function_takes_no_word_of_its_caller(target: str):
    s = df.customize(lent)
    s.pipeline("two:i")
    module = s.build(**TARGETS[target])
    for call in range(2):
        a, b = np.arange(12, dtype=np.int32) + 50 * call, np.zeros(12, np.int32)
        module(a, b)
        want = [a[0] + a[1], a[2] + a[3], 0, *(100 * (a[0:4:2] + a[1:4:2])), 0]
        want += [a[5] + a[6], a[7] + a[8], 0, 0, a[4], 0]
        np.testing.assert_array_equal(b, want)
