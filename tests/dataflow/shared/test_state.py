# ruff: noqa: F823, F841 - the variables are those of the region around the kernels
"""State that processes of a region hand over to each other by a word in a FIFO."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.rtl.read import straight_line
from allo.errors import DataflowError, UnsupportedOpError
from allo.ir.types import Stateful, Stream, int32
from tests.dataflow.shared import programs
from tests.dataflow.shared.programs import N

TARGETS = {
    "simulator": {"target": "simulator"},
    "csim": {"target": "vhls"},
    "jit": {"target": "verilog", "simulator": "jit"},
}
EVERYWHERE = ("interpret", *TARGETS)
INPUTS = [np.arange(N, dtype=np.int32) + k for k in range(1, 4)]


def _summed() -> list[np.ndarray]:
    return [5 + sum(a * a for a in INPUTS[: k + 1]) for k in range(3)]


def _straight() -> list[np.ndarray]:
    return [a[0] * a[1] * a[2] * 5 + np.arange(N) for a in INPUTS]


def _both_write() -> list[np.ndarray]:
    rows, acc = [], 5
    for a in INPUTS:
        acc = acc * 3 + a[0]
        rows.append(np.array([acc, acc + 1, 0, 0]))
        acc //= 2
    return rows


def _chain() -> list[np.ndarray]:
    rows, x = [], np.zeros(N, np.int32)
    for a in INPUTS:
        x = (x + a) * 2
        rows.append(x)
    return rows


def _of_a_function() -> list[np.ndarray]:
    return [np.cumsum(np.arange(N)) for _ in INPUTS]


EXPECTED = {
    "summed": _summed,
    "straight": _straight,
    "both_write": _both_write,
    "chain": _chain,
    "of_a_function": _of_a_function,
}


def _rows(module) -> list[np.ndarray]:
    rows = []
    for a in INPUTS:
        b = np.zeros(N, np.int32)
        module(a, b)
        rows.append(b)
    return rows


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("name", EXPECTED)
def test_the_second_process_finds_what_the_first_left(name, target):
    region = getattr(programs, name)
    built = allo.interpret(region) if target == "interpret" else df.build(region, **TARGETS[target])
    np.testing.assert_array_equal(_rows(built), EXPECTED[name]())


def test_hardware_drains_the_store_before_the_put(monkeypatch):
    """Without the mark on the process the word is put while the product is still computed."""
    monkeypatch.setattr(straight_line, "HANDS_OVER", "no such mark")
    module = df.build(programs.straight, target="verilog", simulator="jit")
    assert not np.array_equal(_rows(module), _straight())


@df.region()
def before(A: int32[N], B: int32[N]):
    """It reads before it gets."""
    acc: int32 @ Stateful = 0
    go: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def w(a: int32[N]):
        acc += a[0]
        go.put(1)

    @df.kernel(mapping=[1], args=[B])
    def r(b: int32[N]):
        b[0] = acc
        b[1] = go.get()


@df.region()
def behind(A: int32[N], B: int32[N]):
    """It writes behind its put."""
    acc: int32 @ Stateful = 0
    go: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def w(a: int32[N]):
        go.put(1)
        acc += a[0]

    @df.kernel(mapping=[1], args=[B])
    def r(b: int32[N]):
        b[1] = go.get()
        b[0] = acc


@df.region()
def perhaps(A: int32[N], B: int32[N]):
    """It gets under a condition."""
    acc: int32 @ Stateful = 0
    go: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def w(a: int32[N]):
        acc += a[0]
        go.put(1)

    @df.kernel(mapping=[1], args=[B])
    def r(b: int32[N]):
        if b[0] > 0:
            b[1] = go.get()
        b[0] = acc


@df.region()
def repeated(A: int32[N], B: int32[N]):
    """The loop puts and goes on writing."""
    acc: int32[N] @ Stateful = 0
    go: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def w(a: int32[N]):
        for i in range(N):
            acc[i] += a[i]
            go.put(1)

    @df.kernel(mapping=[1], args=[B])
    def r(b: int32[N]):
        for i in range(N):
            t: int32 = go.get()
            b[i] = acc[i]


@pytest.mark.parametrize("region", [before, behind, perhaps, repeated])
def test_anything_else_is_refused_with_what_would_do(region):
    with pytest.raises(DataflowError) as caught:
        df.customize(region)
    message = str(caught.value)
    assert "The state acc of the region is used by w_0 and r_0." in message
    assert "acc: int32" in message, "the declaration is shown"
    assert "let all that w_0 does with acc come before its first put into a stream" in message
    assert "let r_0 get from that stream, once and surely, before it touches acc" in message


def test_a_vendor_makes_no_hardware_of_it(tmp_path):
    with pytest.raises(UnsupportedOpError) as caught:
        df.build(programs.summed, target="vitis_hls", mode="csyn", project=str(tmp_path / "p"))
    message = str(caught.value)
    assert "add_0 and show_0 hand a stateful variable over to each other" in message
    assert "or build with target='verilog'" in message
