"""A process that reads an array which another one writes."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import AlloWarning, DataflowError
from allo.ir.types import Stream, int32

N = 4
TARGETS = {
    "simulator": {"target": "simulator"},
    "csim": {"target": "vhls"},
    "jit": {"target": "verilog", "simulator": "jit"},
}


@df.region()
def raced(A: int32[N], B: int32[N], C: int32[N]):
    @df.kernel(mapping=[1], args=[A, B])
    def w(a: int32[N], b: int32[N]):
        for i in range(N):
            b[i] = a[i]

    @df.kernel(mapping=[1], args=[B, C])
    def r(b: int32[N], c: int32[N]):
        for i in range(N):
            c[i] = b[i] + 1


@pytest.mark.parametrize("target", ["simulator", "vhls", "verilog"])
def test_it_is_refused_on_every_target(target):
    with pytest.raises(DataflowError) as caught:
        df.build(raced, target=target, mode=None)
    message = str(caught.value)
    assert "The processes r_0 and w_0 run at once; r_0 reads B[" in message
    assert "whether it finds the old value or the new one is not defined" in message
    assert "c[i] = b[i] + 1" in message and "w_0 writes it here" in message
    assert "all that w_0 does with the array before its first put" in message


@df.region()
def handed(A: int32[N], B: int32[N], C: int32[N]):
    """The value is long in coming, and the put does not depend on it."""
    go: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A, B])
    def w(a: int32[N], b: int32[N]):
        b[1] = a[0] * a[1] * a[2] * a[3]
        go.put(0)

    @df.kernel(mapping=[1], args=[B, C])
    def r(b: int32[N], c: int32[N]):
        t: int32 = go.get()
        for i in range(N):
            c[i] = b[1] + t


@pytest.mark.parametrize("target", ["interpret", *TARGETS])
def test_an_array_that_is_handed_over_is_whole(target):
    made = allo.interpret(handed) if target == "interpret" else df.build(handed, **TARGETS[target])
    for k in range(1, 4):
        a, b, c = np.arange(N, dtype=np.int32) + k, np.zeros(N, np.int32), np.zeros(N, np.int32)
        made(a, b, c)
        np.testing.assert_array_equal(c, np.full(N, np.prod(a)))


@df.region()
def apart(A: int32[2 * N]):
    """Each process has a half, which it reads and writes."""

    @df.kernel(mapping=[2], args=[A])
    def core(a: int32[2 * N]):
        p = df.get_pid()
        for i in range(N):
            a[p * N + i] = a[p * N + i] * 2


def test_parts_without_a_common_element_are_no_race():
    assert df.customize(apart).kernel.surprises == []


@df.region()
def shaken(A: int32[N], B: int32[N], C: int32[N]):
    """Ordered element by element, which is not looked through."""
    go: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A, B])
    def w(a: int32[N], b: int32[N]):
        for i in range(N):
            b[i] = a[i]
            go.put(i)

    @df.kernel(mapping=[1], args=[B, C])
    def r(b: int32[N], c: int32[N]):
        for i in range(N):
            t: int32 = go.get()
            c[i] = b[t]


def test_processes_that_streams_join_are_a_surprise():
    found = df.customize(shaken).kernel.surprises
    assert [one.rule for one in found] == ["readers"]
    assert "c[i] = b[t]" in found[0].text
    assert "a stream that orders them" in found[0].text


@df.region()
def scattered(A: int32[N], B: int32[N], C: int32[N]):
    @df.kernel(mapping=[1], args=[A, B])
    def w(a: int32[N], b: int32[N]):
        for i in range(N):
            b[a[i]] = 1

    @df.kernel(mapping=[1], args=[B, C])
    def r(b: int32[N], c: int32[N]):
        c[0] = b[0]


def test_subscripts_made_of_data_are_a_surprise():
    assert [one.rule for one in df.customize(scattered).kernel.surprises] == ["readers"]


@df.region()
def under_a_branch(A: int32[N], B: int32[N], C: int32[N]):
    """The array is read and written in a branch that stands in no loop."""
    go: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A, B])
    def w(a: int32[N], b: int32[N]):
        if a[0] > a[1]:
            b[a[2] & 3] = b[1] + a[3]
        go.put(1)

    @df.kernel(mapping=[1], args=[B, C])
    def r(b: int32[N], c: int32[N]):
        t: int32 = go.get()
        for i in range(N):
            c[i] = b[i] + t


@pytest.mark.parametrize("target", ["interpret", *TARGETS])
def test_an_array_is_handed_over_behind_a_branch(target):
    interprets = target == "interpret"
    made = (
        allo.interpret(under_a_branch)
        if interprets
        else df.build(under_a_branch, **TARGETS[target])
    )
    for first in (9, 0):
        a, b = np.array([first, 1, 6, 5], np.int32), np.array([1, 2, 3, 4], np.int32)
        c = np.zeros(N, np.int32)
        made(a, b, c)
        np.testing.assert_array_equal(b, [1, 2, 7 if first else 3, 4])
        np.testing.assert_array_equal(c, b + 1)


@df.region()
def left_alone(A: int32[N], B: int32[N], C: int32[N]):
    """A process between the two is given the array and leaves it alone."""
    go: Stream[int32, 1]
    on: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A, B])
    def w(a: int32[N], b: int32[N]):
        b[1] = a[0]
        go.put(1)

    @df.kernel(mapping=[1], args=[B])
    def passing(b: int32[N]):
        on.put(1)
        on.put(go.get())

    @df.kernel(mapping=[1], args=[B, C])
    def r(b: int32[N], c: int32[N]):
        c[0] = on.get()
        c[1] = b[1]
        c[2] = on.get()


@pytest.mark.parametrize("target", ["simulator", "vhls", "verilog"])
def test_a_process_that_leaves_an_array_alone_hands_nothing_over(target):
    with pytest.warns(AlloWarning, match="Another process of the region may write what is read"):
        df.build(left_alone, target=target, mode=None)
