"""A deadlock says which depths of FIFOs would do, or that none would, and the depths are enough."""

from __future__ import annotations

import numpy as np
import pytest

import allo.dataflow as df
from allo.errors import DeadlockError
from allo.ir.types import Stream, int32

N = 8
TARGETS = {
    "simulator": {"target": "simulator"},
    "csim": {"target": "vhls"},
    "jit": {"target": "verilog", "simulator": "jit"},
}


@df.region()
def fork[P](x: int32[N], y: int32[N]):
    """All words of one FIFO are put before those of another; a third takes them in pairs."""
    p: Stream[int32, P]
    q: Stream[int32, 1]
    back: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[x])
    def give(a: int32[N]):
        for i in range(N):
            p.put(a[i])
        for i in range(N):
            q.put(a[i])
        a[0] = back.get()

    @df.kernel(mapping=[1], args=[y])
    def take(b: int32[N]):
        for i in range(N):
            b[i] = p.get() + q.get()
        back.put(1)


@df.region()
def blocks(x: int32[N], y: int32[N]):
    p: Stream[int32[2, 3], 1]
    q: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[x])
    def give(a: int32[N]):
        block: int32[2, 3] = 0
        for i in range(4):
            block[1, 2] = a[i]
            p.put(block)
        q.put(1)

    @df.kernel(mapping=[1], args=[y])
    def take(b: int32[N]):
        t: int32 = q.get()
        for i in range(4):
            c: int32[2, 3] = p.get()
            b[i] = c[1, 2] + t


@df.region()
def ring(x: int32[N], y: int32[N]):
    p: Stream[int32, 1]
    q: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[x])
    def one(a: int32[N]):
        for i in range(N):
            a[i] = p.get()
            q.put(a[i])

    @df.kernel(mapping=[1], args=[y])
    def two(b: int32[N]):
        for i in range(N):
            b[i] = q.get()
            p.put(b[i])


@df.region()
def short(x: int32[N], y: int32[N]):
    p: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[x])
    def give(a: int32[N]):
        for i in range(N - 1):
            p.put(a[i])

    @df.kernel(mapping=[1], args=[y])
    def take(b: int32[N]):
        for i in range(N):
            b[i] = p.get()


@df.region()
def flooded(x: int32[N], y: int32[N]):
    """A process that never ends puts for ever, so its FIFO would grow for ever."""
    p: Stream[int32, 1]
    q: Stream[int32, 1]

    @df.kernel(mapping=[1])
    def generate():
        while True:
            p.put(1)

    @df.kernel(mapping=[1], args=[x, y])
    def take(a: int32[N], b: int32[N]):
        b[0] = p.get() + q.get()

    @df.kernel(mapping=[1], args=[x])
    def never(a: int32[N]):
        for i in range(0):
            q.put(a[i])


def _help(region, target: str, *sizes: int) -> str:
    module = df.customize(region, instantiate=sizes).build(**TARGETS[target])
    with pytest.raises(DeadlockError) as caught:
        module(np.arange(N, dtype=np.int32), np.zeros(N, np.int32))
    return caught.value.help or ""


@pytest.mark.parametrize("target", TARGETS)
def test_the_depth_that_is_missing(target):
    assert _help(fork, target, 1) == (
        "FIFO p needs a depth of 7: with it this call ends. Or take from it earlier."
    )


@pytest.mark.parametrize("target", TARGETS)
def test_with_the_depth_the_call_ends(target):
    a, b = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    df.customize(fork, instantiate=[7]).build(**TARGETS[target])(a.copy(), b)
    np.testing.assert_array_equal(b, 2 * a)


def test_one_less_is_too_little():
    assert "FIFO p needs a depth of 7" in _help(fork, "simulator", 6)


@pytest.mark.parametrize("target", TARGETS)
def test_depths_of_blocks_count_blocks(target):
    assert _help(blocks, target).startswith("FIFO p needs a depth of 4: with it this call ends.")


@pytest.mark.parametrize("target", TARGETS)
def test_a_cycle_is_named_where_no_depth_helps(target):
    assert _help(ring, target) == (
        "no depth of a FIFO helps: one_0 waits for two_0 for one_0. Let one of them put before it gets."
    )


@pytest.mark.parametrize("target", TARGETS)
def test_too_few_words_are_no_matter_of_depth(target):
    assert _help(short, target) == (
        "no depth of a FIFO helps: put as many elements into each FIFO as are taken from it."
    )


def test_what_would_grow_for_ever_is_given_up():
    assert _help(flooded, "simulator") == "make p deeper, or take from it earlier."
