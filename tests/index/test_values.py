"""Index values beyond 32 bits: iterators, arguments, locals, arrays, in every operation."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from .reference import INDEX, evaluate
from .support import ENGINES, TARGETS, build, kernel

STARTS = (3, 2**31 - 2, 3_000_000_000, 2**32 - 1, 2**33 - 1, 2**40 + 5, -(2**31) - 2, -(2**35), -3)
EXPRESSIONS = [
    "i",
    "-i",
    "i + 1",
    "i - 5",
    "7 - i",
    "i * 3",
    "i * 3000000000",
    "-2 * i",
    "i + j",
    "i - j",
    "i * j",
    "i * i",
    "(i - 7) * (i + 1)",
    "i // 3",
    "i // 8",
    "(i - 9) // 5",
    "i / 3",
    "(5 - i) / 4",
    "i % 7",
    "i % 16",
    "(5 - i) % 7",
    "i // -3",
    "i % -3",
    "i // j",
    "i % j",
    "i // u",
    "u // i",
    "i % u",
    "i // s",
    "s // i",
    "s % i",
    "i / w",
    "w % i",
    "i << 1",
    "i << 31",
    "i << 40",
    "i << 64",
    "i >> 1",
    "i >> 33",
    "i >> 70",
    "i << u",
    "i >> u",
    "i >> s",
    "s << i",
    "u >> i",
    "w << i",
    "i & 255",
    "i | 4096",
    "i ^ 3",
    "i & j",
    "i | j",
    "i ^ j",
    "i & w",
    "i < 3000000000",
    "i >= 4294967295",
    "i == j",
    "i > s",
    "i < u",
    "i <= w",
    "w < i",
    "i != 5",
    "(i + 1) // 2",
    "(i + j) // 2",
    "i + u",
    "u - i",
    "i * u",
    "i + s * i",
    "i - w",
]
# Dividers of 64 bits simulate slowly: constant divisors alone where the range is not known.
UNDIVIDED = [e for e in EXPRESSIONS if not re.search(r"[/%] -?[a-z]", e)] + ["u // i", "i % s"]
ARGUMENTS = {"u": (5, ("u", 8)), "s": (-3, ("i", 16)), "w": (2**40 + 7, ("u", 64))}
ZEROS = {"u": (0, ("u", 8)), "s": (0, ("i", 16)), "w": (0, ("u", 64))}


def _names(i: int, j: int, arguments: dict) -> dict:
    return arguments | {"i": (i, INDEX), "j": (j, INDEX)}


def _lines(expressions: list[str], start: str, extra: str = "") -> list[str]:
    lines = [
        f"def top(B: Int(64)[{len(expressions)}, 3], u: UInt(8), s: Int(16), w: UInt(64){extra}):",
        "    k: int32 = 0",
        f"    for i in range({start}, {start} + 3):",
        "        for j in range(i - 1, i):",
    ]
    for number, text in enumerate(expressions):
        lines.append(f"            B[{number}, k] = {text}")
    return [*lines, "        k += 1"]


def _check(expressions: list[str], found: np.ndarray, start: int, arguments: dict) -> None:
    for number, text in enumerate(expressions):
        want = [evaluate(text, _names(i, i - 1, arguments))[0] for i in range(start, start + 3)]
        want = [(v + 2**63) % 2**64 - 2**63 for v in want]
        assert found[number].tolist() == want, (text, start)


def _run(expressions: list[str], module: Any, start: int, arguments: dict, *more: int) -> None:
    found = np.zeros((len(expressions), 3), np.int64)
    module(found, *(arguments[name][0] for name in "usw"), *more)
    _check(expressions, found, start, arguments)


@pytest.mark.parametrize(
    ("target", "start"),
    [("cpu", start) for start in STARTS]
    + [("csim", 2**31 - 2), ("csim", 2**33 - 1), ("csim", -3)]
    + [("rtl", 3), ("rtl", -(2**31) - 2)],
)
def test_every_operation_on_far_iterators(target: str, start: int) -> None:
    module = build(kernel(_lines(EXPRESSIONS, str(start))), target)
    for arguments in (ARGUMENTS, ZEROS):
        _run(EXPRESSIONS, module, start, arguments)


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("cpu", "index"),
        ("cpu", "Int(64)"),
        ("cpu", "Int(40)"),
        ("csim", "index"),
        ("csim", "Int(64)"),
    ]
    + [("rtl", "index")],
)
def test_the_same_from_an_argument(target: str, kind: str) -> None:
    expressions = UNDIVIDED if target == "rtl" else EXPRESSIONS
    module = build(kernel(_lines(expressions, "n", f", n: {kind}")), target)
    for start in (*STARTS, 0):
        if kind == "Int(40)" and not -(2**39) <= start < 2**39 - 3:
            continue
        _run(expressions, module, start, ARGUMENTS, start)


def test_far_iterators_in_verilator() -> None:
    expressions = [*UNDIVIDED[::4], "i // 3", "i % j"]
    module = build(kernel(_lines(expressions, "n", ", n: index")), "verilator")
    for start in STARTS:
        _run(expressions, module, start, ARGUMENTS, start)


@pytest.mark.parametrize("target", TARGETS)
def test_the_lowest_value_of_32_bits_by_minus_one_needs_one_bit_more(target: str) -> None:
    lines = [
        "def top(B: Int(64)[2, 2]):",
        "    for i in range(-2147483648, -2147483646):",
        "        for j in range(-2, 0):",
        "            B[i + 2147483648, j + 2] = i // j",
    ]
    found = np.zeros((2, 2), np.int64)
    build(kernel(lines), target)(found)
    assert found.tolist() == [[2**30, 2**31], [2**30 - 1, 2**31 - 1]]


@pytest.mark.parametrize("target", ENGINES)
def test_index_arguments_locals_arrays_and_results(target: str) -> None:
    lines = [
        "def top(A: index[4], B: Int(64)[4], n: index, m: UInt(40)):",
        "    def twice(p: index) -> index:",
        "        return p + p",
        "    k: index = m",
        "    local: index[3]",
        "    for i in range(3):",
        "        local[i] = k + i",
        "    for i in range(4):",
        "        B[i] = A[i] - n",
        "    A[0] = twice(n)",
        "    A[1] = k",
        "    A[2] = local[2]",
        "    if local[0] > n:",
        "        A[3] = 9",
    ]
    values = np.array([2**40, -(2**35), 2**31, 5], np.int64)
    found = np.zeros(4, np.int64)
    n, m = -(2**33) - 1, 2**39 + 2**31
    module = build(kernel(lines), target)
    held = values.copy()
    module(held, found, n, m)
    assert found.tolist() == [v - n for v in values.tolist()]
    assert held.tolist() == [2 * n, m, m + 2, 9]


@pytest.mark.parametrize("target", ENGINES)
def test_index_to_float_and_back(target: str) -> None:
    lines = [
        "def top(A: float64[2], B: Int(64)[3], x: float64, n: UInt(40)):",
        "    for i in range(n, n + 2):",
        "        A[i - n] = i",
        "    k: index = x",
        "    B[0] = k",
    ]
    n = 2**39 + 1
    for x, want in ((2.0**40 + 0.5, 2**40), (-1e30, -(2**63)), (1e30, 2**63 - 1), (-7.9, -7)):
        held, found = np.zeros(2), np.zeros(3, np.int64)
        build(kernel(lines), target)(held, found, x, n)
        assert held.tolist() == [float(n), float(n + 1)]
        assert found[0] == want


@pytest.mark.parametrize("target", TARGETS)
def test_an_index_beside_fixed_point_keeps_its_value(target: str) -> None:
    """Comparison and division see all 64 bits, the sign among them (found by scripts/fuzz)."""
    lines = [
        "def top(A: int32[3, 4], B: Fixed(40, 4)[2, 4], f: UFixed(8, 6), g: Fixed(60, 2), n: index):",
        "    k: int32 = 0",
        "    for i in range(n, n + 4):",
        "        A[0, k] = f >= i",
        "        A[1, k] = i < g",
        "        A[2, k] = min(i, i) == f",
        "        B[0, k] = i / g",
        "        B[1, k] = i // f",
        "        k += 1",
    ]
    f, g = 1.5, float(2**41)
    for start in (-2, 2**41 - 2, -(2**41)):
        found, quotients = np.zeros((3, 4), np.int32), np.zeros((2, 4))
        build(kernel(lines), target)(found, quotients, f, g, start)
        values = range(start, start + 4)
        assert found[0].tolist() == [int(f >= i) for i in values]
        assert found[1].tolist() == [int(i < g) for i in values]
        assert found[2].tolist() == [int(i == f) for i in values]
        # Fixed(92, 30), and UFixed(40, 26) with 14 whole bits; then Fixed(40, 4), rounded down.
        exact = [Fraction(i) / Fraction(g) for i in values]
        cut = [Fraction(math.trunc(q * 2**30), 2**30) for q in exact]
        assert quotients[0].tolist() == [math.floor(q * 16) / 16 for q in cut]
        assert quotients[1].tolist() == [
            math.floor(Fraction(i) / Fraction(f)) % 2**14 for i in values
        ]
