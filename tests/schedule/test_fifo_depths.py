"""fifo_depths: what it changes, where it is replayed, and what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import ScheduleError, UnknownHandleError
from allo.ir.types import Stream, int32
from allo.schedule import Schedule
from tests.schedule.support import check_golden, text

N = 8


@df.region()
def pairs(A: int32[N], B: int32[N]):
    wide: Stream[int32, 4][2]
    pipe: Stream[int32, 16]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            wide[0].put(a[i])
            wide[1].put(a[i] + 1)

    @df.kernel(mapping=[1], args=[])
    def sums():
        for i in range(N):
            pipe.put(wide[0].get() * wide[1].get())

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for i in range(N):
            b[i] = pipe.get()


def twice(X: int32[N], Y: int32[N]):
    for i in range(N):
        Y[i] = X[i] * 2


def joined(A: int32[N], B: int32[N]):
    Y: int32[N]
    twice(A, Y)
    for i in range(N):
        B[i] = Y[i] + 1


def depths(s: Schedule) -> dict[str, int]:
    found = re.findall(r'depth = (\d+) : i32.*?name = "(\w+)"', text(s))
    return {name: int(depth) for depth, name in found}


def test_one_fifo_an_array_of_them_and_one_of_an_array():
    s = df.customize(pairs)
    s.fifo_depths(["pipe", "wide"], [2, 3])
    s.fifo_depths(["wide_1"], [7])
    assert depths(s) == {"pipe": 2, "wide_0": 3, "wide_1": 7}
    check_golden(s, "fifo_depths")


@pytest.mark.parametrize("target", ["simulator", "verilog", "vhls"])
def test_results_stay(target: str):
    s = df.customize(pairs)
    s.fifo_depths(["pipe", "wide"], [1, 1])
    options = {"simulator": "jit"} if target == "verilog" else {}
    a, b = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    s.build(target=target, **options)(a, b)
    assert np.array_equal(b, a * (a + 1))


def test_an_array_that_to_made_a_fifo():
    s = allo.customize(joined)
    s.to(s.Y, "S_i_0", depth=4)
    s.fifo_depths(["Y"], [2])
    assert '"stream:2"' in text(s) and "stream:4" not in text(s)
    a, b = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    s.build(target="verilog", simulator="jit")(a, b)
    assert np.array_equal(b, 2 * a + 1)


def test_it_is_recorded():
    s = df.customize(pairs)
    s.fifo_depths(["pipe"], [2])
    assert s.primitive_sequences[-1] == ("fifo_depths", [["pipe"], [2]], {})


@pytest.mark.parametrize(
    ("fifos", "sizes", "kind", "message"),
    [
        (["pip"], [2], UnknownHandleError, "function pairs has no FIFO pip"),
        (["pipe"], [0], ScheduleError, "fifo_depths pipe: the depth must be positive, got 0"),
        (["pipe"], [1, 2], ScheduleError, "there are not as many depths as FIFOs"),
        ("pipe", [1], ScheduleError, "there are not as many depths as FIFOs"),
        (["nowhere:pipe"], [1], UnknownHandleError, "nowhere"),
    ],
)
def test_refusals(fifos: list[str], sizes: list[int], kind: type[Exception], message: str):
    s = df.customize(pairs)
    before = text(s)
    with pytest.raises(kind, match=message):
        s.fifo_depths(fifos, sizes)
    assert text(s) == before
