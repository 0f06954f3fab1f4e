"""Single operators: the reference and the kernels against the interpreter, bit for bit."""

from __future__ import annotations

import pytest

from allo.errors import ModelError
from allo.frontend import from_tflite
from allo.tflite.reader import read_network
from tests.tflite.cases import OPERATORS, OPERATORS_16, make
from tests.tflite.support import check, check_hardware, inputs_of

CASES = [(name, "int8") for name in OPERATORS] + [(name, "int16") for name in OPERATORS_16]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_random_operators_have_the_interpreters_bits(name: str, dtype: str, seed: int) -> None:
    check(make(name, seed, dtype), 2)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_hardware_has_the_cpus_bits(name: str, dtype: str) -> None:
    model = make(name, 1, dtype)
    s = check(model, 1, lanes=2)
    check_hardware(s, inputs_of(read_network(model), 1)[-2:])


def test_a_lane_is_a_whole_number() -> None:
    with pytest.raises(ModelError, match="lanes is 0, and no number of channels"):
        from_tflite(make("conv2d", 0), lanes=0)
