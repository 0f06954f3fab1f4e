"""Processes that never end: the region ends with the others, and starts afresh at each call."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from tests.dataflow.endless import programs
from tests.dataflow.endless.programs import EXPECTED, N

TARGETS = {
    "simulator": {"target": "simulator"},
    "csim": {"target": "vhls"},
    "jit": {"target": "verilog", "simulator": "jit"},
}
INPUTS = [np.arange(N, dtype=np.int32) - 3, np.full(N, 7, np.int32)]


def _expected(name: str, a: np.ndarray) -> np.ndarray:
    return EXPECTED[name](a).astype(np.int32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", EXPECTED)
def test_the_region_ends_with_the_others(name, target):
    module = df.build(getattr(programs, name), **TARGETS[target])
    for a in INPUTS:
        b = np.zeros(N, np.int32)
        module(a, b)
        np.testing.assert_array_equal(b, _expected(name, a))


@pytest.mark.parametrize("name", EXPECTED)
def test_the_interpreter_gives_the_same(name):
    for a in INPUTS:
        b = np.zeros(N, np.int32)
        allo.interpret(getattr(programs, name))(a, b)
        np.testing.assert_array_equal(b, _expected(name, a))


@pytest.mark.parametrize("name", ["surplus", "nested"])
def test_verilator_gives_the_same(name):
    module = df.build(getattr(programs, name), target="verilog")
    for a in INPUTS:
        b = np.zeros(N, np.int32)
        module(a, b)
        np.testing.assert_array_equal(b, _expected(name, a))
