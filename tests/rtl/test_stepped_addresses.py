"""Expressions of loop counters that are registers, stepped beside them (graph/addresses/stepping.py)."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo import Partition
from allo.backend.rtl.graph.addresses.adders import adder_bits
from allo.backend.rtl.graph.addresses.stepping import _Stepper
from allo.backend.rtl.graph.nodes import Lin, Node
from allo.customize import Schedule
from allo.errors import SimulationError
from allo.ir.types import Stream, int16, int32
from tests.replay.watcher import Watcher
from tests.rtl.test_dataflow_tasks import ENGINES, everywhere, numbers


def registers(verilog: str) -> dict[str, int]:
    """How many registers of each kind a text has."""
    found = re.findall(r"reg +(?:\[\d+:0\])? *(address|quotient|remainder)(?:_\d+)?;", verilog)
    return {name: found.count(name) for name in set(found)}


def nest[Size, Total, T0, T1, T2, T3, F0, F1, F2, F3, Start](A: int16[Size], B: int16[Total]):
    """A nest that reads ``A`` at an expression of its counters, and writes what it read in order."""
    for i in range(T0):
        for j in range(T1):
            for k in range(T2):
                for m in range(T3):
                    B[((i * T1 + j) * T2 + k) * T3 + m] = (
                        A[Start + F0 * i + F1 * j + F2 * k + F3 * m] + 1
                    )


def expected(trips: tuple[int, ...], a: tuple[int, ...], start: int, A: np.ndarray) -> np.ndarray:
    places = start + sum(
        factor * counter for factor, counter in zip(a, np.indices(trips), strict=True)
    )
    return (A[places.reshape(-1)] + 1).astype(np.int16)


def drawn(seed: int) -> tuple[Schedule, list[np.ndarray], list[np.ndarray]]:
    """A random nest: one to four loops, steps of both signs, banks of any number."""
    r = random.Random(seed)
    depth = r.randint(1, 4)
    trips = tuple([1] * (4 - depth) + [r.randint(2, 9) for _ in range(depth)])
    a = tuple(
        r.choice([1, 1, 2, 3, 5, 7, 9, 10, 13, 20, 30, 60, -1, -3, -7, -10, 0]) for _ in "ijkm"
    )
    low = sum(min(0, f * (t - 1)) for f, t in zip(a, trips, strict=True))
    high = sum(max(0, f * (t - 1)) for f, t in zip(a, trips, strict=True))
    start = -low + r.choice([0, 0, 1, 11])
    size = start + high + 1 + r.randint(0, 3)
    total = int(np.prod(trips))
    s = allo.customize(nest, instantiate=[size, total, *trips, *a, start])
    for array in ("A", "B"):
        extent = size if array == "A" else total
        banks = r.choice([1, 3, 5, 6, 7, 14])
        kind = r.choice([Partition.Cyclic, Partition.Cyclic, Partition.Block])
        if 1 < banks <= extent:
            s.partition(getattr(s, array), kind, 1, banks)
    s.pipeline(r.choice(["m", "m", "m", "k"]) if trips[3] < 5 else "m")
    A = np.random.default_rng(seed).integers(-999, 999, size).astype(np.int16)
    want = expected(trips, a, start, A)
    return s, [A, np.zeros_like(want)], [A, want]


def right(module: Any, given: list[np.ndarray], want: list[np.ndarray]) -> bool:
    """Whether three runs, one after another, give all elements, in the cycles that are predicted."""
    for _ in range(3):
        arrays = [g.copy() for g in given]
        try:
            module(*arrays)
        except SimulationError:
            return False
        if not all(np.array_equal(got, w) for got, w in zip(arrays, want, strict=True)):
            return False
        if module.cycles != module.report.cycles:
            return False
    return True


@pytest.mark.parametrize("seed", range(24))
def test_random_nests(seed: int):
    s, given, want = drawn(seed)
    assert right(s.build(target="verilog", simulator="jit"), given, want)


def test_random_nests_in_verilator():
    for seed in (0, 5, 11):
        s, given, want = drawn(seed)
        module = s.build(target="verilog", simulator="verilator")
        assert registers(module.verilog)
        assert right(module, given, want)


def _own_growth(_: Any, expression: Lin, level: Any) -> int:
    """As if the counters inside did not go back to their start."""
    return {node.number: factor for node, factor in expression.terms}.get(level.iv.number, 0)


def _no_growth(_: Any, expression: Lin) -> int:
    """As if the last iteration were the first."""
    return expression.const


@pytest.mark.parametrize(("name", "wrong"), [("_growth", _own_growth), ("_last", _no_growth)])
def test_a_wrong_correction_is_seen(
    name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch, watcher: Watcher
):
    monkeypatch.setattr(_Stepper, name, wrong)
    results = []
    for seed in range(12):
        s, given, want = drawn(seed)
        results.append(right(s.build(target="verilog", simulator="jit"), given, want))
    watcher.alarms.clear()
    assert results.count(False) >= 6


def windows(A: int16[12, 60], B: int16[12, 60]):
    for t in range(3):
        for i in range(1, 11):
            for j in range(1, 59):
                B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]
        for y in range(1, 11):
            for x in range(1, 59):
                A[y, x] = B[y, x] + t


def test_nests_that_are_started_again_by_a_loop_around_both():
    s = allo.customize(windows)
    s.pipeline("j")
    s.pipeline("x")
    s.partition(s.A, Partition.Cyclic, 2, 3)
    A, B = (x.astype(np.int16) for x in numbers((12, 60), (12, 60)))
    a, b = A.copy(), B.copy()
    for t in range(3):
        b[1:-1, 1:-1] = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        a[1:-1, 1:-1] = b[1:-1, 1:-1] + t
    everywhere(s, [A, B], [a, b])


def found(A: int16[6, 50], key: int16, B: int16[6]):
    for t in range(6):
        B[t] = 0
        for i in range(50):
            B[t] = i
            if A[t, i] == key:
                break


def test_a_loop_that_is_left_early_starts_anew():
    s = allo.customize(found)
    s.pipeline("i")
    s.partition(s.A, Partition.Cyclic, 2, 7)
    A = (np.arange(300, dtype=np.int16) % 101).reshape(6, 50)
    for simulator in ENGINES:
        module = s.build(target="verilog", simulator=simulator)
        assert registers(module.verilog).keys() >= {"remainder"}
        for key in (7, 55, 100, 3):
            hits = [np.nonzero(A[t] == key)[0] for t in range(6)]
            want = np.array([int(h[0]) if len(h) else 49 for h in hits], np.int16)
            B = np.zeros(6, np.int16)
            module(A, key, B)
            np.testing.assert_array_equal(B, want)


@df.region()
def slow_reader(A: int16[8, 60], B: int16[8, 60]):
    words: Stream[int16, 2]

    @df.kernel(mapping=[1], args=[A])
    def feed(a: int16[8, 60]):
        for i, j in allo.grid(8, 60):
            words.put(a[7 - i, j])

    @df.kernel(mapping=[1], args=[B])
    def take(b: int16[8, 60]):
        for i in range(8):
            for j in range(60):
                x: int16 = words.get()
                b[i, 59 - j] = x / 3 + (x % 5)


def test_registers_stand_still_with_the_counters_while_a_stream_waits():
    A, B = (x.astype(np.int16) for x in numbers((8, 60), (8, 60)))
    s = df.customize(slow_reader)
    s.pipeline("feed_0:j")
    plain = df.customize(slow_reader)
    want = B.copy()
    plain.build()(A.copy(), want)
    for simulator in ENGINES:
        module = s.build(target="verilog", simulator=simulator)
        assert registers(module.verilog)
        for _ in range(2):
            got = B.copy()
            module(A.copy(), got)
            np.testing.assert_array_equal(got, want)


def rounds(A: int32[5, 70], B: int32[70]):
    for t in range(9):
        for j in range(70):
            A[t % 5, j] = A[t % 5, j] / 3 + B[69 - j]


def test_a_pipeline_that_rewinds():
    A, B = numbers((5, 70), 70)
    want = A.copy()
    allo.customize(rounds).build()(want, B.copy())
    s = allo.customize(rounds)
    s.pipeline("j", rewind=True)
    s.partition(s.A, Partition.Cyclic, 2, 3)
    everywhere(s, [A, B], [want, B])


def triangle(A: int32[40, 60], B: int32[40, 60], n: int32):
    for i in range(40):
        for j in range(i + 1):
            B[i, 59 - j] = A[39 - i, j] * 2
    for y in range(n):
        for x in range(60):
            B[y, x] = B[y, x] + A[y + 1, x]
    for k in range(20):
        for m in range(0, 59, 2):
            B[k + n, m] = A[n, m + 1] - A[k, m]


def test_bounds_and_starts_known_at_run_time():
    A, B = numbers((40, 60), (40, 60))
    s = allo.customize(triangle)
    for loop in ("j", "x", "m"):
        s.pipeline(loop)
    s.partition(s.A, Partition.Cyclic, 2, 3)
    cpu = allo.customize(triangle).build()
    for simulator in ENGINES:
        module = s.build(target="verilog", simulator=simulator)
        for n in (4, 13, 1):
            want, got = B.copy(), B.copy()
            cpu(A.copy(), want, n)
            module(A.copy(), got, n)
            np.testing.assert_array_equal(got, want)


def banked(A: int16[16, 60], B: int16[16, 60]):
    for i, j in allo.grid(16, 60, name="rows"):
        B[i, j] = A[i, j] + 1


@pytest.mark.parametrize(("device", "clock"), [("xcup", 300), ("ecp5", 100)])
def test_a_division_is_a_counter_and_no_stage(device: str, clock: int):
    s = allo.customize(banked)
    s.partition(s.A, Partition.Cyclic, 2, 14)
    s.partition(s.B, Partition.Cyclic, 2, 14)
    s.pipeline("j")
    module = s.build(target="verilog", simulator="jit", device=device, clock_mhz=clock)
    assert registers(module.verilog)["remainder"] == 1
    assert sum(registers(module.verilog).values()) == 2
    assert " * " not in module.verilog
    assert module.report.fmax_mhz > clock
    A, B = (x.astype(np.int16) for x in numbers((16, 60), (16, 60)))
    assert right(module, [A, B], [A, (A + 1).astype(np.int16)])


def test_what_is_a_concatenation_stays_one():
    def aligned(A: int16[16, 64], B: int16[16, 64]):
        for i, j in allo.grid(16, 64, name="rows"):
            B[15 - i, j] = A[i, 63 - j] + 1

    s = allo.customize(aligned)
    s.pipeline("j")
    assert registers(s.build(target="verilog").verilog) == {}


def test_adders_are_counted_bit_by_bit():
    i, j = (Node(n, "iv", width, high=(1 << width) - 1) for n, width in ((1, 5), (2, 6)))
    assert adder_bits(Lin(0, ((i, 64), (j, 1))), 11) == (0, 0)
    assert adder_bits(Lin(31, ((i, -1),)), 5) == (0, 0)
    assert adder_bits(Lin(30, ((i, -1),)), 5) == (5, 1)
    assert adder_bits(Lin(0, ((i, 32), (j, 1))), 10) == (5, 1)
    bits, adders = adder_bits(Lin(1, ((i, 60), (j, 1))), 11)
    assert adders == 2
    assert bits == 9 + 11
