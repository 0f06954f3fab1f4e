"""The CPU build divides loops at the iteration that writes what all of them read; no value changes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
from allo.ir.types import float32, index, int32

N = 40


def through(p: int32[N, N]):
    for k in range(N):
        for i in range(N):
            for j in range(N):
                p[i, j] += p[i, k] * p[k, j]


def shortest(p: float32[N, N]):
    for k, i, j in allo.grid(N, N, N):
        p[i, j] = min(p[i, j], p[i, k] + p[k, j])


def constant(v: int32[N]):
    for i in range(N):
        v[i] = v[i] * 3 + v[7]


def behind(v: int32[N]):
    for i in range(N):
        v[i] = v[i] * 3 + v[N - 1]


def before(v: int32[N + 8]):
    for i in range(8, N + 8):
        v[i] = v[i] * 3 + v[2]


def moved(p: int32[N + 3, N + 3]):
    for k in range(3):
        for i in range(N):
            for j in range(N):
                p[i, j + 3] = p[i, j + 3] * 5 + p[i, 2 * k + 1] + p[k + 1, j + 3]


def first_rows(p: int32[N, N], n: index):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                p[i, j] += p[i, k] * 3 + p[k, j]


def outside(p: int32[N, N], out: int32[N, N], n: index):
    for k in range(N):
        for j in range(n):
            out[0, j] += p[0, j] - p[0, k]
            p[0, j] = p[0, j] * 3 + p[0, k]


def two_places(v: int32[N]):
    for i in range(N):
        v[i] = v[i] * 3 + v[7] - v[9]


def neighbour(v: int32[N]):
    for i in range(1, N):
        v[i] = v[i] * 3 + v[i - 1]


def written_at_rest(v: int32[N], w: int32[N]):
    for i in range(N):
        v[3] = v[i] + w[i]


def short(v: int32[N]):
    for i in range(20):
        v[i] = v[i] * 3 + v[7]


DIVIDED = {
    "through": (through, 9),
    "shortest": (shortest, 9),
    "constant": (constant, 3),
    "behind": (behind, 3),
    "before": (before, 3),
    "moved": (moved, 9),
    "first_rows": (first_rows, 9),
    "outside": (outside, 3),
}
WHOLE = {
    "two_places": two_places,
    "neighbour": neighbour,
    "written_at_rest": written_at_rest,
    "short": short,
}
ALL = {name: kernel for name, (kernel, _) in DIVIDED.items()} | WHOLE


def innermost(kernel) -> int:
    """Loops of the module that hold no others."""
    text = str(allo.customize(kernel).build().intermediate_module)
    opened, count, last = 0, 0, ""
    for line in text.splitlines():
        if "affine.for" in line:
            opened, last = opened + 1, "for"
        elif re.match(r"\s*} \{.*loop_name", line):
            count += last == "for"
            last = "end"
    assert opened
    return count


def arguments(kernel, rng: np.random.Generator) -> list:
    made: list = []
    for parameter in allo.customize(kernel).build().signature.arguments:
        if parameter.shape is None:
            made.append(int(rng.integers(0, N + 1)))
        elif parameter.dtype.name == "i32":
            made.append(rng.integers(-9, 9, parameter.shape, np.int32))
        else:
            made.append(rng.standard_normal(parameter.shape, np.float32))
    return made


def compare(kernel, seed: int) -> None:
    """The CPU build and the plain interpretation of a kernel on one drawn set of arguments."""
    module = allo.customize(kernel).build()
    found = arguments(kernel, np.random.default_rng(seed))
    expected = [np.copy(a) if isinstance(a, np.ndarray) else a for a in found]
    module(*found)
    allo.interpret(kernel)(*expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()


@pytest.mark.parametrize("name", DIVIDED)
def test_a_loop_is_divided_at_its_meeting(name: str) -> None:
    kernel, parts = DIVIDED[name]
    assert innermost(kernel) == parts


@pytest.mark.parametrize("name", WHOLE)
def test_other_loops_stay_whole(name: str) -> None:
    assert innermost(WHOLE[name]) == 1


@pytest.mark.parametrize("name", ALL)
def test_every_element_is_what_python_computes(name: str) -> None:
    for seed in range(3):
        compare(ALL[name], seed)


def drawn[LOW, HIGH, OI, OJ, FACTOR, COLUMN, ROW](p: int32[96, 96]):
    for k in range(4):
        for i in range(LOW, HIGH):
            for j in range(LOW, HIGH):
                p[i + OI, j + OJ] = (
                    p[i + OI, j + OJ] * 3 + p[i + OI, FACTOR * k + COLUMN] + p[k + ROW, j + OJ]
                )


@pytest.mark.parametrize("seed", range(12))
def test_a_meeting_may_be_anywhere(seed: int) -> None:
    """At, in front of and behind the ends of the loops, with any distance from iterator to subscript."""
    rng = np.random.default_rng(seed)
    low = int(rng.integers(0, 12))
    high = low + int(rng.integers(32, 50))
    numbers = [int(rng.integers(0, most)) for most in (30, 30, 4, 84, 92)]
    module = allo.customize(drawn, instantiate=[low, high, *numbers]).build()
    assert str(module.intermediate_module).count("affine.for") > 3
    found = rng.integers(-99, 99, (96, 96), np.int32)
    expected = found.copy()
    module(found)
    oi, oj, factor, column, row = numbers
    for k in range(4):
        for i in range(low, high):
            for j in range(low, high):
                terms = expected[i + oi, factor * k + column] + expected[k + row, j + oj]
                expected[i + oi, j + oj] = expected[i + oi, j + oj] * 3 + terms
    assert np.array_equal(found, expected)
