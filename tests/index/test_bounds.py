"""Bounds, steps and subscripts computed from arguments of any integer type."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.dialects.diagnostics import AlloError, SimulationError

from .reference import INDEX, evaluate, wrap
from .support import ENGINES, NAMES, TARGETS, build, kernel

WIDTHS = (2, 7, 31, 32, 33, 40, 63, 64, 65, 130)
KINDS = [(sign, bits) for sign in "iu" for bits in WIDTHS]


def _type(kind: tuple[str, int]) -> str:
    return f"{'Int' if kind[0] == 'i' else 'UInt'}({kind[1]})"


def _extremes(kind: tuple[str, int]) -> list[int]:
    sign, bits = kind
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if sign == "i" else (0, (1 << bits) - 1)
    return [low, high, high // 2, 1]


def _index(value: int) -> int:
    return wrap(value, INDEX)


@pytest.mark.parametrize("target", TARGETS)
def test_loops_between_arguments_of_every_type(target: str) -> None:
    """``range(n, n + 3)`` for each type: both ends in their own types, then as indices."""
    arguments = ", ".join(f"n{p}: {_type(kind)}" for p, kind in enumerate(KINDS))
    lines = [f"def top(A: Int(64)[{len(KINDS)}, 4], {arguments}):", "    k: int32 = 0"]
    for p in range(len(KINDS)):
        lines += [
            "    k = 0",
            f"    for i{p} in range(n{p}, n{p} + 3):",
            "        if k < 4:",
            f"            A[{p}, k] = i{p}",
            "        k += 1",
        ]
    module = build(kernel(lines), target)
    for choice in range(4):
        values = [_extremes(kind)[choice] for kind in KINDS]
        found = np.zeros((len(KINDS), 4), np.int64)
        module(found, *values)
        for p, (kind, value) in enumerate(zip(KINDS, values, strict=True)):
            upper = evaluate("n + 3", {"n": (value, kind)})[0]
            want = list(range(_index(value), _index(upper)))[:4]
            assert found[p].tolist() == want + [0] * (4 - len(want)), (kind, value)


@pytest.mark.parametrize("target", TARGETS)
def test_subscripts_and_tests_of_every_type(target: str) -> None:
    """``A[n % 5]``, ``A[n // c]`` and ``i < n`` are of the argument's own type."""
    kinds = [kind for kind in KINDS if kind[1] < 100]  # a divider of 130 bits simulates slowly
    arguments = ", ".join(f"n{p}: {_type(kind)}" for p, kind in enumerate(kinds))
    count = len(kinds)
    lines = [f"def top(T: int32[16], A: int32[{count}, 4], {arguments}):"]
    for p, (_, bits) in enumerate(kinds):
        divisor = 1 << max(0, bits - 3)
        lines += [
            f"    A[{p}, 0] = T[n{p} % 5 + 4]",
            f"    A[{p}, 1] = T[n{p} // {divisor} + 8]",
            f"    for i{p} in range(2, 6):",
            f"        if i{p} < n{p}:",
            f"            A[{p}, 2] += 1",
            f"        A[{p}, 3] += 1 if n{p} >= i{p} - 3 else 0",
        ]
    module = build(kernel(lines), target)
    for choice in range(4):
        values = [_extremes(kind)[choice] for kind in kinds]
        found = np.zeros((count, 4), np.int32)
        module(np.arange(16, dtype=np.int32), found, *values)
        for p, (kind, value) in enumerate(zip(kinds, values, strict=True)):
            names = {"n": (value, kind)}
            divisor = 1 << max(0, kind[1] - 3)
            want = [
                evaluate("n % 5 + 4", names)[0],
                evaluate(f"n // {divisor} + 8", names)[0],
                sum(i < value for i in range(2, 6)),
                sum(value >= i - 3 for i in range(2, 6)),
            ]
            assert found[p].tolist() == want, (kind, value)


@pytest.mark.parametrize("target", ENGINES)
def test_a_loop_counts_past_32_bits(target: str) -> None:
    lines = [
        "def top(A: Int(64)[3, 4], n: UInt(32), m: Int(64)):",
        "    for i in range(3000000000, 3000000004):",
        "        A[0, i - 3000000000] = i",
        "    for i in range(n - 2, n + 2):",
        "        A[1, i - n + 2] = i",
        "    for i in range(m, m + 40, 10):",
        "        A[2, (i - m) // 10] = i",
    ]
    found = np.zeros((3, 4), np.int64)
    n, m = 2**32 - 1, 2**50
    build(kernel(lines), target)(found, n, m)
    assert found[0].tolist() == list(range(3000000000, 3000000004))
    assert found[1].tolist() == list(range(n - 2, n + 2))
    assert found[2].tolist() == list(range(m, m + 40, 10))


@pytest.mark.parametrize("target", TARGETS)
def test_counting_down_from_values_of_any_type(target: str) -> None:
    """The ends of a downward loop may be data, and wider than an index."""
    lines = [
        "def top(A: Int(64)[3, 6], E: int32[2], n: UInt(64), m: Int(70)):",
        "    k: int32 = 0",
        "    for i in range(n, n - 6, -2):",
        "        A[0, k] = i",
        "        k += 1",
        "    k = 0",
        "    for i in range(E[0], E[1], -1):",
        "        A[1, k] = i",
        "        k += 1",
        "    k = 0",
        "    for i in range(m // 4, m // 4 - 3, -1):",
        "        A[2, k] = i",
        "        k += 1",
    ]
    n, m, ends = 2**63 + 50, 2**68, np.array([4, -2], np.int32)
    found = np.zeros((3, 6), np.int64)
    built = build(kernel(lines), target)
    built(found, ends, n, m)
    first, second, third = _index(n), range(4, -2, -1), _index(m // 4)
    assert found[0].tolist() == [first, first - 2, first - 4, 0, 0, 0]
    assert found[1].tolist() == list(second)
    assert found[2].tolist() == [third, third - 1, third - 2, 0, 0, 0]
    # Ends are indices before they are compared: this one is a negative one, and the other is not.
    found[:] = 0
    built(found, ends, 2**63 + 5, m)
    assert found[0].tolist() == [0] * 6


@pytest.mark.parametrize("target", TARGETS)
def test_unsigned_differences_wrap_in_their_type(target: str) -> None:
    """Types decide, in bounds as anywhere else: 3 - 5 of UInt(4) is 30 of UInt(5)."""
    lines = [
        "def top(A: int32[2], n: UInt(4), m: UInt(4)):",
        "    for i in range(n - m):",
        "        A[0] += 1",
        "    if n - m > 20:",
        "        A[1] = 1",
    ]
    found = np.zeros(2, np.int32)
    build(kernel(lines), target)(found, 3, 5)
    assert found.tolist() == [30, 1]


def test_a_slice_whose_start_is_no_index_is_refused() -> None:
    lines = ["def top(A: int32[8], B: int32[2], n: UInt(64)):", "    B[:] = A[n : n + 2]"]
    with pytest.raises(AlloError, match="bound n of a slice must be affine in loop iterators"):
        kernel(lines)


def test_a_subscript_out_of_range_says_what_it_reaches() -> None:
    lines = ["def top(A: int32[8]):", "    for i in range(4):", "        A[2 * i - 2] = 1"]
    with pytest.raises(AlloError, match=r"2 \* i - 2 reaches -2 for a dimension of extent 8"):
        kernel(lines)


STEPS = (1, 5, 0, -1, -5, -(1 << 31))


@pytest.mark.parametrize("target", ENGINES)
def test_a_loop_whose_step_is_not_positive_has_no_iteration(target: str) -> None:
    """Up, down, by an unsigned step and inside another loop; none may hang or leave an array."""
    module = build(
        kernel(
            [
                "def top(A: int32[4, 12], low: int32, high: int32, s: int32, u: UInt(40)):",
                "    for i in range(0, 12, s):",
                "        A[0, i] += 1",
                "    for j in range(low, high, s):",
                "        A[1, j] += j",
                "    for k in range(low, 12, u):",
                "        A[2, k] += 1",
                "    for m in range(3):",
                "        for n in range(m, high, s + m):",
                "            A[3, n] += m + 1",
            ]
        ),
        target,
    )
    for low, high in ((0, 12), (11, 0), (3, 9)):
        for step in STEPS:
            found, want = (np.zeros((4, 12), np.int32) for _ in range(2))
            module(found, low, high, step, max(step, 0))
            if step > 0:
                want[0, ::step] += 1
                want[1, low:high:step] += np.arange(12, dtype=np.int32)[low:high:step]
                want[2, low::step] += 1
            for m in range(3):
                if step + m > 0:
                    want[3, m : high : step + m] += m + 1
            np.testing.assert_array_equal(found, want, err_msg=f"{low} {high} {step}")


def test_the_interpreter_refuses_a_step_that_is_not_positive() -> None:
    lines = ["def top(A: int32[4], s: int32):", "    for i in range(0, 4, s):", "        A[i] = 1"]
    meaning = allo.interpret("\n".join(lines) + "\n", global_vars=NAMES)
    said = r"The step of the loop is -3, and a step that is not constant must be positive\."
    with pytest.raises(SimulationError, match=said):
        meaning(np.zeros(4, np.int32), -3)
