"""Single operators: the reference and the kernels against the interpreter, bit for bit."""

from __future__ import annotations

import pytest

from allo.tflite.reader import read_network
from tests.tflite.cases import OPERATORS, make
from tests.tflite.support import check, check_hardware, inputs_of


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", OPERATORS)
def test_random_operators_have_the_interpreters_bits(name: str, seed: int) -> None:
    check(make(name, seed))


@pytest.mark.parametrize("name", OPERATORS)
def test_hardware_has_the_cpus_bits(name: str) -> None:
    model = make(name, 1)
    s = check(model, 1)
    s["**"].pipeline()
    check_hardware(s, inputs_of(read_network(model), 1))
