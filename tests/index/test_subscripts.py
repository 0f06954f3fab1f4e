"""Quotients and remainders of ``c ± k * i`` as subscripts, element by element, on every target."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from .reference import INDEX, evaluate
from .support import ENGINES, TARGETS, build, kernel

OFFSET = 64
LOOPS = {"up": range(-2, 3), "down": range(4, -4, -3), "run_time": range(4)}
TERMS = [
    f"({c} {sign} {k} * i)" if k > 1 else f"({c} {sign} i)"
    for c, sign, k in product((-7, 0, 2, 6), "+-", (1, 2, 3))
]
QUOTIENTS = [f"{t} {op} {d}" for t, op, d in product(TERMS, ("//", "%"), (2, 3, 5, 8))]


def _kernel(expressions: list[str], header: str, wraps: bool) -> list[str]:
    lines = [
        f"def top(A: int32[{2 * OFFSET}], B: int32[{len(expressions)}, 8], n: int32):",
        "    j: int32 = 0",
        f"    for i in range({header}):",
    ]
    for number, text in enumerate(expressions):
        place = text if wraps else f"{text} + {OFFSET}"
        lines.append(f"        B[{number}, j] = A[{place}]")
    return [*lines, "        j += 1"]


def _header(name: str) -> str:
    steps = LOOPS[name]
    return "0, n" if name == "run_time" else f"{steps.start}, {steps.stop}, {steps.step}"


def _run(expressions: list[str], loop: str, target: str, wraps: bool) -> np.ndarray:
    module = build(kernel(_kernel(expressions, _header(loop), wraps)), target)
    table = np.arange(2 * OFFSET, dtype=np.int32) + 1
    found = np.zeros((len(expressions), 8), np.int32)
    module(table, found, 4)
    return found - 1


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("loop", LOOPS)
def test_quotients_and_remainders_in_subscripts(loop: str, target: str) -> None:
    found = _run(QUOTIENTS, loop, target, wraps=False)
    for number, text in enumerate(QUOTIENTS):
        want = [evaluate(text, {"i": (i, INDEX)})[0] + OFFSET for i in LOOPS[loop]]
        assert found[number, : len(want)].tolist() == want, text


def test_a_sample_in_verilator() -> None:
    sample = QUOTIENTS[:: len(QUOTIENTS) // 24]
    found = _run(sample, "down", "verilator", wraps=False)
    for number, text in enumerate(sample):
        want = [evaluate(text, {"i": (i, INDEX)})[0] + OFFSET for i in LOOPS["down"]]
        assert found[number, : len(want)].tolist() == want, text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("loop", LOOPS)
def test_a_remainder_that_is_a_whole_subscript_counts_from_the_end(loop: str, target: str) -> None:
    """``A[(i - 1) % n]`` is what Python makes of it, the remainder of a negative number included."""
    expressions = [f"{t} % {d}" for t, d in product(TERMS, (2, 3, 5, 7, 8, 11))]
    found = _run(expressions, loop, target, wraps=True)
    for number, text in enumerate(expressions):
        want = [eval(text, {"i": i}) for i in LOOPS[loop]]
        assert found[number, : len(want)].tolist() == want, text


@pytest.mark.parametrize("target", ENGINES)
def test_products_of_quotients_of_a_downward_loop(target: str) -> None:
    """An index taken apart and put together again, in two dimensions."""
    lines = [
        "def top(A: int32[4, 6], B: int32[24]):",
        "    for i in range(23, -1, -1):",
        "        B[i] = A[(23 - i) // 6, (23 - i) % 6] + i // 6 * 100 + i % 6",
    ]
    table = np.arange(24, dtype=np.int32).reshape(4, 6)
    found = np.zeros(24, np.int32)
    build(kernel(lines), target)(table, found)
    assert found.tolist() == [23 - i + i // 6 * 100 + i % 6 for i in range(24)]


@pytest.mark.parametrize("target", TARGETS)
def test_a_negated_unsigned_subscript_wraps_in_its_type(target: str) -> None:
    """``-u`` is an Int(32), in which a great ``u`` gives a small number."""
    schedule = kernel(
        ["def top(A: int32[8], B: int32[2], u: UInt(32)):"]
        + ["    B[0] = A[-u]", "    B[1] = A[-u + 4]"]
    )
    found = np.zeros(2, np.int32)
    build(schedule, target)(np.arange(8, dtype=np.int32), found, 2**32 - 3)
    assert found.tolist() == [3, 7]


def test_a_sum_that_wraps_past_every_array_is_a_place_in_memory_as_it_is() -> None:
    """Banks and distances of accesses are found from such a place; a computed one has none."""
    schedule = kernel(["def top(A: int32[8], B: int32[1], n: Int(64)):", "    B[0] = A[n + 1]"])
    assert "affine.load %arg0[symbol(%" in str(schedule.module)


MULTIPLES = ["((n * 6) // 6) % 7", "(n * 6) % 7", "((n * 6 + 5) // 3) % 7"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("text", MULTIPLES)
def test_a_multiple_that_wraps_is_divided_as_it_is(text: str, target: str) -> None:
    """Affine expressions are of whole numbers, in which ``(n * 6) // 6`` would be ``n``."""
    body = ["def top(A: int32[7], n: index) -> int32:", f"    return A[{text}]"]
    module = build(kernel(body), target)
    table = np.arange(7, dtype=np.int32)
    for n in (5, 2**61, 2**62 + 11, -(2**61) - 4):
        place = evaluate(text, {"n": (n, INDEX)})[0] % 7
        assert module(table, n) == table[place]
