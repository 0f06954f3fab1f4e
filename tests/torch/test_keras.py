"""Networks of HGQ2 on Keras 3: every result is that of the model's own ``predict``."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from allo.errors import ModelError, ToolMissingError, UnsupportedOperatorError
from allo.frontend import from_keras
from allo.ir.types import Fixed

NETWORKS = ["mlp", "saturating", "convergent", "truncating", "cnn", "residual", "lines"]


@pytest.fixture(scope="module")
def networks():
    """Keras and HGQ2 are imported when a test runs: four CPU seconds."""
    from . import keras_networks

    assert list(keras_networks.NETWORKS) == NETWORKS
    return keras_networks


def samples(shape, scale=1.0):
    return np.random.default_rng(1).normal(0, scale, (8, *shape)).astype(np.float32)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_result_is_the_models(name, networks):
    """Within the samples that it was traced on and far beyond, where quantisers wrap or saturate."""
    model, shape = networks.network(name)
    compiled = from_keras(model)
    for scale in (1.0, 5.0):
        x = samples(shape, scale)
        if name in ("mlp", "cnn", "residual"):  # inputs of several widths wrap: on the port's grid
            x = np.round(x * 32) / 32
        expected = model.predict(x, verbose=0)
        ours = np.concatenate([compiled(one[None]) for one in x])
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("name", ["mlp", "cnn", "residual"])
def test_hardware_has_the_results(name, networks):
    model, shape = networks.network(name)
    hardware = from_keras(model, target="mlir").build(target="verilog", simulator="jit")
    x = np.round(samples(shape, 2.0) * 32) / 32
    expected = model.predict(x[:2], verbose=0)
    np.testing.assert_array_equal(np.concatenate([hardware(one[None]) for one in x[:2]]), expected)


def test_a_changed_weight_is_seen_and_the_port_is_a_choice(networks):
    model, shape = networks.network("saturating")
    x = np.round(samples(shape) * 256) / 256
    compiled = from_keras(model, input_type=Fixed(16, 8))
    ours = np.concatenate([compiled(one[None]) for one in x])
    np.testing.assert_array_equal(ours, model.predict(x, verbose=0))
    model.layers[0]._kernel.assign(np.roll(model.layers[0]._kernel.numpy(), 1, 0))
    assert not np.array_equal(ours, model.predict(x, verbose=0))


def test_what_is_not_supported_says_what_would_do(networks, monkeypatch):
    keras, q = networks.keras, networks.q
    with pytest.raises(ModelError, match="A dict is no Keras model(?s:.*)QKeras"):
        from_keras({})
    plain = keras.Sequential([keras.Input((4,)), keras.layers.ReLU()])
    with pytest.raises(ModelError, match="has no quantiser.\nhelp: layers of hgq.layers"):
        from_keras(plain)
    with pytest.raises(ModelError, match="has no graph of layers"):
        from_keras(keras.Sequential([q.QDense(3)]))
    dense = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="head")])
    with pytest.raises(
        UnsupportedOperatorError, match="Layer 'head' is Dense which is not supported"
    ):
        from_keras(dense)
    swish = keras.Sequential([keras.Input((4,)), q.QDense(3, activation="gelu", name="first")])
    with pytest.raises(
        UnsupportedOperatorError, match="'first' is QDense with the activation 'gelu'"
    ):
        from_keras(swish)
    with pytest.raises(ModelError, match="no fixed extent in dimension 1"):
        from_keras(keras.Sequential([keras.Input((None, 4)), keras.layers.ReLU()]))
    monkeypatch.setitem(sys.modules, "hgq.layers", None)
    with pytest.raises(
        ToolMissingError, match=r"hgq.layers cannot be imported(?s:.*)allo\[keras\]"
    ):
        from_keras(plain)
