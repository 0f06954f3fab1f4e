"""Automata: a state, and a chain of conditions on it in a loop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.ir.types import int32, uint8

N = 256
TIME_S = 60
"""LLVM 22 worked on such a loop without end; it takes half a second."""


def count_abc(text: uint8[N]) -> int32:
    s: int32 = 0
    n: int32 = 0
    for i in range(N):
        ch: uint8 = text[i]
        if s == 0:
            if ch == 97:
                s = 1
            elif ch == 98:
                s = 2
        elif s == 1:
            if ch == 98:
                s = 3
            elif ch != 97:
                s = 0
        elif s == 2:
            if ch == 97:
                s = 4
            else:
                s = 0
        elif s == 3:
            if ch == 99:
                n = n + 1
                s = 0
            elif ch == 97:
                s = 1
            else:
                s = 2
        else:
            if ch == 98:
                s = 3
            else:
                s = 0
    return n


def text() -> np.ndarray:
    """Letters of which the words that are counted are made."""
    return np.random.default_rng(5).integers(97, 100, N).astype(np.uint8)


@pytest.mark.parametrize("level", [2, 3])
def test_the_cpu_build_of_an_automaton_ends(level):
    program = (
        "import allo; from tests.cpu.test_automata import count_abc, text; "
        f"print(allo.customize(count_abc).build(configs={{'opt_level': {level}}})(text()))"
    )
    root = Path(__file__).parents[2]
    run = [sys.executable, "-c", program]
    found = subprocess.run(
        run, cwd=root, capture_output=True, text=True, timeout=TIME_S, check=True
    )
    assert int(found.stdout) == count_abc(text())


@pytest.mark.parametrize("configs", [{"simulator": "jit"}, {"simulator": "jit", "clock_mhz": 50}])
def test_hardware_counts_the_same(configs):
    s = allo.customize(count_abc)
    s.pipeline("i")
    assert s.build(target="verilog", configs=configs)(text()) == count_abc(text())
