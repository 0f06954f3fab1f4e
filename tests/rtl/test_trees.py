"""Integer chains are trees outside of recurrences, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.graph.simplify import steps
from allo.ir.types import AlloType, Fixed, int8, int16, int32, uint8, uint32

from .chains import RandomChains
from .differential import bits, compare

ENGINES = pytest.mark.parametrize("simulator", ["jit", "verilator"])
ROWS, TERMS = 8, 16


def dot[T, R](a: T[ROWS, TERMS], b: T[ROWS, TERMS], o: R[ROWS]):
    s: R = 3
    for i in range(ROWS):
        for k in range(TERMS):
            s += a[i, k] * b[i, k]
        o[i] = s


def differences[T, R](a: T[ROWS, TERMS], b: T[ROWS, TERMS], o: R[ROWS]):
    s: R = 3
    for i in range(ROWS):
        for k in range(TERMS):
            s = s - a[i, k]
            s = b[i, k] + s
        o[i] = s


def conditional[T, R](a: T[ROWS, TERMS], b: T[ROWS, TERMS], o: R[ROWS]):
    s: R = 3
    for i in range(ROWS):
        if b[i, 0] != 0:
            for k in range(TERMS):
                if a[i, k] > b[i, k]:
                    s += a[i, k]
                    if a[i, k] > 5:
                        s -= b[i, k]
        o[i] = s


def bitwise[T, R](a: T[ROWS, TERMS], b: T[ROWS, TERMS], o: R[ROWS]):
    s: R = 3
    for i in range(ROWS):
        for k in range(TERMS):
            s ^= a[i, k] & b[i, k]
        o[i] = s


def powers[T, R](a: T[ROWS, TERMS], b: T[ROWS, TERMS], o: R[ROWS]):
    for i in range(ROWS):
        s: R = 1
        for k in range(TERMS):
            s *= a[i, k]
        o[i] = s


def extremes[T, R](a: T[ROWS, TERMS], b: T[ROWS, TERMS], o: R[ROWS]):
    s: R = 3
    for i in range(ROWS):
        for k in range(TERMS):
            s = max(s, a[i, k])
        o[i] = s


def narrow_between[T, R](a: T[ROWS, TERMS], b: T[ROWS, TERMS], o: R[ROWS]):
    s: R = 0
    for i in range(ROWS):
        t: int8 = 0
        for k in range(TERMS):
            t += a[i, k]
        u: int8 = t + b[i, 0] + b[i, 1] + b[i, 2]
        s += t + u
        o[i] = s


def _schedule(kernel: Any, element: AlloType, result: AlloType) -> Any:
    s = allo.customize(kernel, instantiate=[element, result])
    s.partition(s.a, dim=2)
    s.partition(s.b, dim=2)
    s.pipeline("i")
    return s


def _run(s: Any, element: Any, result: Any, simulator: str) -> Any:
    """The build, compared with the CPU's in all elements."""
    module, cpu = s.build(target="verilog", simulator=simulator), s.build()
    rng = np.random.default_rng(7)
    a, b = (_random(element, rng) for _ in range(2))
    ours, theirs = (np.zeros(ROWS, result) for _ in range(2))
    module(a, b, ours)
    cpu(a, b, theirs)
    assert bits(ours) == bits(theirs)
    assert theirs.any()
    assert module.cycles == module.report.cycles
    return module


def _random(kind: Any, rng: np.random.Generator) -> np.ndarray:
    if kind is np.float64:
        return rng.integers(-(1 << 11), 1 << 11, (ROWS, TERMS)) / 16.0
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, (ROWS, TERMS), kind, endpoint=True)


FIXED = Fixed(12, 4), Fixed(20, 4), np.float64, np.float64
# As chains, initiation intervals are up to 11 (conditions), and latencies up to 17 (products).
CASES = {
    "int8": (dot, int8, int32, np.int8, np.int32),
    "uint8": (dot, uint8, uint32, np.uint8, np.uint32),
    "int32": (dot, int32, int32, np.int32, np.int32),
    "wraps": (dot, int8, int16, np.int8, np.int16),
    "fixed": (dot, *FIXED),
    "differences": (differences, int16, int32, np.int16, np.int32),
    "differences of fixed": (differences, *FIXED),
    "conditions": (conditional, int8, int32, np.int8, np.int32),
    "conditions, unsigned": (conditional, uint8, uint32, np.uint8, np.uint32),
    "bitwise": (bitwise, int8, int32, np.int8, np.int32),
    "products": (powers, int16, int32, np.int16, np.int32),
    "extremes": (extremes, int32, int32, np.int32, np.int32),
    "casts": (narrow_between, int8, int32, np.int8, np.int32),
}


@ENGINES
@pytest.mark.parametrize("name", CASES)
def test_a_recurrence_holds_one_operation(name: str, simulator: str) -> None:
    kernel, *types, element, result = CASES[name]
    module = _run(_schedule(kernel, *types), element, result, simulator)
    (loop,) = module.report.functions[-1].loops
    assert (loop.ii, loop.limit) == (1, "")


def prefixes(a: int8[ROWS, 4], o: int32[ROWS, 4]):
    s: int32 = 0
    for i in range(ROWS):
        for k in range(4):
            s += a[i, k]
            o[i, k] = s


def test_sums_that_are_used_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree for each prefix would take more adders than the four of the program."""
    s = allo.customize(prefixes)
    s.partition(s.a, dim=2)
    s.partition(s.o, dim=2)
    s.pipeline("i")
    text = str(s.build(target="systemverilog"))
    monkeypatch.setattr(steps, "plant_trees", lambda *_: False)
    assert text == str(s.build(target="systemverilog"))


def late(x: int32[16], o: int32[16]):
    for i in range(16):
        o[i] = x[i] * x[i] * x[i] + x[i] + 3 + i


def test_what_comes_last_is_added_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product takes cycles, in which the rest is added."""
    s = allo.customize(late)
    s.pipeline("i")
    module = s.build(target="verilog", simulator="jit")
    x = np.arange(-8, 8, dtype=np.int32) * 12345
    ours, theirs = np.zeros(16, np.int32), np.zeros(16, np.int32)
    module(x, ours)
    s.build()(x, theirs)
    assert bits(ours) == bits(theirs)
    monkeypatch.setattr(steps, "plant_trees", lambda *_: False)
    assert module.report.cycles <= s.build(target="verilog", simulator="jit").report.cycles


@pytest.mark.parametrize("seed", range(24))
def test_random_chains(seed: int) -> None:
    compare(RandomChains(seed).text, "f", runs=2, seed=seed)


def test_random_chains_in_verilator() -> None:
    compare(RandomChains(3, most=64).text, "f", runs=4, simulator="verilator")
