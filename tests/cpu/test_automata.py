"""Automata: a state, and a chain of conditions on it in a loop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import allo
from benchmarks.recurrent_kernels import N, automaton

TIME_S = 60
"""LLVM 22 worked on such a loop without end; it takes half a second."""


def text() -> np.ndarray:
    """Letters of which the words that are counted are made."""
    return np.random.default_rng(5).integers(97, 100, N).astype(np.uint8)


@pytest.mark.parametrize("level", [2, 3])
def test_the_cpu_build_of_an_automaton_ends(level):
    program = (
        "import allo; from tests.cpu.test_automata import automaton, text; "
        f"print(allo.customize(automaton).build(configs={{'opt_level': {level}}})(text()))"
    )
    root = Path(__file__).parents[2]
    run = [sys.executable, "-c", program]
    found = subprocess.run(
        run, cwd=root, capture_output=True, text=True, timeout=TIME_S, check=True
    )
    assert int(found.stdout) == automaton(text())


@pytest.mark.parametrize("configs", [{"simulator": "jit"}, {"simulator": "jit", "clock_mhz": 50}])
def test_hardware_counts_the_same(configs):
    s = allo.customize(automaton)
    s.pipeline("i")
    assert s.build(target="verilog", configs=configs)(text()) == automaton(text())
