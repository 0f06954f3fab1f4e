"""The oracle and the targets agree on subscripts that go round."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import allo

from .support import NAMES, TARGETS, build, kernel

LINES = [
    "def top(A: int32[7], X: int8[6], B: int32[4, 6]):",
    "    for i in range(6):",
    "        B[0, i] = A[(i - 3) % 7]",
    "        B[1, i] = A[X[i] % 5]",
    "        B[2, i] = A[(X[i] * i - 2) % 4]",
    "        B[3, i] = A[-1 % 7]",
]
X = np.array([-1, -5, -128, 127, 4, -4], np.int8)


def _want() -> list[list[int]]:
    rows = [[(i - 3) % 7 for i in range(6)], [int(x) % 5 for x in X]]
    return [*rows, [(int(x) * i - 2) % 4 for i, x in enumerate(X)], [6] * 6]


@pytest.mark.parametrize("target", TARGETS)
def test_remainders_of_data_as_subscripts(target: str) -> None:
    found = np.zeros((4, 6), np.int32)
    build(kernel(LINES), target)(np.arange(7, dtype=np.int32), X.copy(), found)
    assert found.tolist() == _want()


def test_the_oracle_goes_round_too() -> None:
    found = np.zeros((4, 6), np.int32)
    run = allo.interpret(textwrap.dedent("\n".join(LINES)) + "\n", global_vars=NAMES)
    run(np.arange(7, dtype=np.int32), X.copy(), found)
    assert found.tolist() == _want()
