"""Elements of every kind, and functions that are given a stream, ask without waiting."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import allo.dataflow as df
from allo.ir.types import Int, Stream, Struct, UInt, int32, uint1
from tests.compatibility.everywhere import EVERYWHERE, build

N = 8


RELAY = """
import allo.dataflow as df
from allo.ir.types import *

T = {dtype}
N = 8


@df.region()
def top(a: T[N], b: T[N], rest: T[1], flags: int32[4]):
    pipe: Stream[T, 2]

    @df.kernel(mapping=[1], args=[a])
    def send(x: T[N]):
        i: int32 = 0
        while i < N:
            if pipe.try_put(x[i]):
                i += 1

    @df.kernel(mapping=[1], args=[b, rest, flags])
    def receive(y: T[N], z: T[1], f: int32[4]):
        i: int32 = 0
        while i < N:
            v, ok = pipe.try_get()
            if ok:
                y[i] = v
                i += 1
        nothing, found = pipe.try_get()
        z[0] = nothing
        f[0] = found
        f[1] = pipe.empty()
"""


def relay(dtype: str, folder: Path):
    """The region ``top`` for a type, in a file of its own."""
    file = folder / "relay.py"
    file.write_text(RELAY.replace("{dtype}", dtype))
    spec = importlib.util.spec_from_file_location("relay", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.top


TYPES = {
    "int32": ("int32", np.arange(-4, 4, dtype=np.int32)),
    "bits": ("UInt(1)", np.arange(8) % 2 == 1),
    "odd": ("Int(7)", np.arange(-64, 64, 16, dtype=np.int8)),
    "wide": ("UInt(100)", np.array([(1 << 99) + n for n in range(8)], object)),
    "float32": ("float32", np.linspace(-3, 3, 8).astype(np.float32)),
    "float64": ("float64", np.linspace(-3, 3, 8)),
    "bfloat16": ("bfloat16", np.arange(8).astype(ml_dtypes.bfloat16)),
    "fixed": ("Fixed(12, 4)", np.arange(-4, 4) * 1.5625),
}


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("name", TYPES)
def test_every_type_passes_and_is_zero_where_there_is_none(name, target, tmp_path):
    dtype, values = TYPES[name]
    got, rest = np.zeros_like(values), np.ones(1, values.dtype)
    flags = np.full(4, 9, np.int32)
    build(relay(dtype, tmp_path), target, tmp_path)(values, got, rest, flags)
    np.testing.assert_array_equal(got, values)
    assert rest[0] == 0
    np.testing.assert_array_equal(flags, [0, 1, 9, 9])


Pair = Struct({"key": Int(9), "value": UInt(6)})


@df.region()
def structs(a: int32[N], keys: int32[N], values: int32[N]):
    pipe: Stream[Pair, 2]

    @df.kernel(mapping=[1], args=[a])
    def send(x: int32[N]):
        i: int32 = 0
        while i < N:
            p: Pair = {"key": -x[i], "value": x[i] + 1}
            if pipe.try_put(p):
                i += 1

    @df.kernel(mapping=[1], args=[keys, values])
    def receive(k: int32[N], v: int32[N]):
        i: int32 = 0
        while i < N:
            p, ok = pipe.try_get()
            if ok:
                k[i] = p["key"]
                v[i] = p["value"]
                i += 1


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_struct_passes_whole(target, tmp_path):
    a = np.arange(N, dtype=np.int32) * 3
    keys, values = np.zeros(N, np.int32), np.zeros(N, np.int32)
    build(structs, target, tmp_path)(a, keys, values)
    np.testing.assert_array_equal(keys, -a)
    np.testing.assert_array_equal(values, a + 1)


def wait_for_room(s: Stream[int32, 2], v: int32) -> int32:
    waited: int32 = 0
    while s.full() and waited < 1000:
        waited += 1
    s.put(v)
    return waited


def next_of(s: Stream[int32, 2]) -> int32:
    found: uint1 = 0
    value: int32 = 0
    while not found:
        value, found = s.try_get()
    return value


@df.region()
def by_functions(a: int32[N], b: int32[N], c: int32[N]):
    pipes: Stream[int32, 2][2]

    @df.kernel(mapping=[1], args=[a])
    def send(x: int32[N]):
        for i in range(N):
            wait_for_room(pipes[0], x[i])
            wait_for_room(pipes[1], x[i] * x[i])

    @df.kernel(mapping=[1], args=[b, c])
    def receive(y: int32[N], z: int32[N]):
        for i in range(N):
            y[i] = next_of(pipes[0])
            z[i] = next_of(pipes[1])


@pytest.mark.parametrize("target", EVERYWHERE)
def test_functions_ask_the_streams_they_are_given(target, tmp_path):
    a = np.arange(N, dtype=np.int32) - 3
    b, c = np.zeros(N, np.int32), np.zeros(N, np.int32)
    build(by_functions, target, tmp_path)(a, b, c)
    np.testing.assert_array_equal(b, a)
    np.testing.assert_array_equal(c, a * a)


@df.region()
def conditions(a: int32[N], b: int32[N], asked: int32[2]):
    """Where a condition is not evaluated, nothing is asked and nothing taken."""
    pipe: Stream[int32, N]
    go: Stream[uint1, 1]

    @df.kernel(mapping=[1], args=[a])
    def send(x: int32[N]):
        for i in range(N):
            pipe.put(x[i])
        go.put(1)

    @df.kernel(mapping=[1], args=[b, asked])
    def receive(y: int32[N], n: int32[2]):
        start: uint1 = go.get()
        for i in range(N):
            v: int32 = -1
            if i % 2 == 0 and not pipe.empty():
                v = pipe.get()
            y[i] = v
        left: int32 = 0
        for i in range(N):
            w, ok = pipe.try_get()
            left += 1 if ok else 0
        n[0] = left
        n[1] = start


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_condition_asks_only_where_it_is_evaluated(target, tmp_path):
    a = np.arange(10, 10 + N, dtype=np.int32)
    b, asked = np.zeros(N, np.int32), np.zeros(2, np.int32)
    build(conditions, target, tmp_path)(a, b, asked)
    expected = np.full(N, -1)
    expected[::2] = a[: N // 2]
    np.testing.assert_array_equal(b, expected)
    np.testing.assert_array_equal(asked, [N // 2, 1])
