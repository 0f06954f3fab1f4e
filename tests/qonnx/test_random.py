"""Random networks beside qonnx's executor: every level, and results where float32 is exact."""

from __future__ import annotations

import numpy as np
import pytest

from allo.errors import UnsupportedOperatorError
from allo.qonnx.entry import from_qonnx

from .random_networks import RandomNetwork
from .support import Pair, same, samples


@pytest.mark.parametrize("seed", range(24))
def test_scales_of_powers_of_two_give_the_executors_results(seed):
    network = RandomNetwork(seed)
    pair = Pair(network.model)
    x = samples(np.random.default_rng(seed), network.shape)
    same(pair.reference(x), pair.expected(x))


@pytest.mark.parametrize("seed", range(100, 116))
def test_other_scales_give_the_executors_levels_but_for_ties(seed):
    network = RandomNetwork(seed, exact=False)
    try:
        pair = Pair(network.model)
    except UnsupportedOperatorError as error:
        assert "of two scales whose ratio is" in str(error)
        return
    assert pair.ties(samples(np.random.default_rng(seed), network.shape)) < 0.2


@pytest.mark.parametrize("seed", [3, 8])
def test_the_cpu_and_hardware_have_the_references_bits(seed):
    network = RandomNetwork(seed)
    s, pair = from_qonnx(network.model, target="mlir"), Pair(network.model)
    x = samples(np.random.default_rng(seed), network.shape)
    (expected,) = pair.reference(x)
    np.testing.assert_array_equal(s.build()(x), expected)
    np.testing.assert_array_equal(s.build(target="verilog", simulator="jit")(x), expected)
