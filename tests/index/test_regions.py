"""Index values through regions, calls and FIFOs."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import Int, Stream, UInt, index

from .support import NAMES, TARGETS, build

FAR = 3_000_000_000
MANY = 18


@df.region()
def scalars(A: Int(64)[4], n: UInt(8), m: UInt(64), k: index):
    words: Stream[Int(64), 4]

    @df.kernel(mapping=[1], args=[])
    def make():
        for i in range(n, n + 2):
            words.put(i)
        for i in range(k, k + 2):
            words.put(i)

    @df.kernel(mapping=[1], args=[A])
    def take(a: Int(64)[4]):
        for i in range(4):
            a[i] = words.get() + m


@df.region()
def coordinates(A: Int(64)[MANY], B: Int(64)[MANY]):
    @df.kernel(mapping=[MANY], args=[A, B])
    def each(a: Int(64)[MANY], b: Int(64)[MANY]):
        p = df.get_pid()
        b[p] = a[MANY - 1 - p] * (p + 1)


def _build(region: object, target: str) -> object:
    return build(df.customize(region), target)


@pytest.mark.parametrize("target", TARGETS)
def test_scalars_of_a_region_keep_their_values(target: str) -> None:
    found = np.zeros(4, np.int64)
    _build(scalars, target)(found, 255, 2**40, FAR)
    assert found.tolist() == [2**40 + v for v in (255, 256, FAR, FAR + 1)]


@pytest.mark.parametrize("target", TARGETS)
def test_processes_that_share_a_function_know_their_place(target: str) -> None:
    values, found = np.arange(MANY, dtype=np.int64) + FAR, np.zeros(MANY, np.int64)
    _build(coordinates, target)(values, found)
    assert found.tolist() == [int(values[MANY - 1 - p]) * (p + 1) for p in range(MANY)]


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_of_functions_are_as_wide_as_their_calls_ask(target: str) -> None:
    text = (
        "def top(A: Int(64)[6]):\n"
        "    def far(a: Int(64)[6], k: index, i: index):\n"
        "        for j in range(2):\n"
        "            a[i + j] = k + j\n"
        "    far(A, 3000000000, 0)\n"
        "    for i in range(2):\n"
        "        far(A, i * 5000000000 - 1, i * 2 + 2)\n"
    )
    found = np.zeros(6, np.int64)
    build(allo.customize(text, global_vars=NAMES), target)(found)
    assert found.tolist() == [FAR, FAR + 1, -1, 0, 4999999999, 5000000000]
