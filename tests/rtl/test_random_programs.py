"""Random programs: hardware equals the CPU build bit for bit, cycles equal the prediction."""

from __future__ import annotations

import pytest

from .differential import compare
from .programs import Program

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("seed", (1, *range(1000, 1010)))
def test_random_program(seed: int):
    program = Program(seed)
    compare(program.text, program.top, seed=seed)


@pytest.mark.parametrize("seed", (36, 2000))
def test_random_program_in_verilator(seed: int):
    program = Program(seed)
    compare(program.text, program.top, seed=seed, simulator="verilator")
