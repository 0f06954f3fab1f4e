"""Small networks of HGQ2's layers: bits of their own for each element, by seed."""

from __future__ import annotations

import hgq.layers as q
import keras
import numpy as np
from hgq.config import QuantizerConfigScope
from hgq.utils import trace_minmax

WRAPPING = {"default_q_type": "kif", "overflow_mode": "WRAP", "i0": 2, "f0": 4}
SATURATING = {"default_q_type": "kbi", "overflow_mode": "SAT", "b0": 6, "i0": 2}


def scope(datalane=WRAPPING, round_mode="RND"):
    return (
        QuantizerConfigScope(
            place="all", default_q_type="kbi", overflow_mode="SAT_SYM", b0=5, i0=1
        ),
        QuantizerConfigScope(place="datalane", round_mode=round_mode, **datalane),
    )


def mlp():
    return keras.Sequential(
        [
            keras.Input((8,)),
            q.QDense(6, activation="relu"),
            q.QDense(5, activation="relu"),
            q.QDense(3),
        ]
    )


def cnn():
    return keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            q.QConv2D(3, 3, activation="relu", padding="same"),
            q.QMaxPooling2D(2),
            q.QConv2D(4, 2, strides=1),
            q.QAveragePooling2D(2),
            keras.layers.Flatten(),
            q.QDense(3),
        ]
    )


def residual():
    """Two branches and their sum, a batch norm, a fused one, and a table of tanh."""
    x = keras.Input((6,))
    y = q.QBatchNormDense(6, activation="relu")(x)
    z = q.QAdd()([y, q.QDense(6)(x)])
    z = q.QBatchNormalization()(z)
    return keras.Model(x, q.QDense(2)(q.QUnaryFunctionLUT("tanh")(z)))


def lines():
    return keras.Sequential(
        [
            keras.Input((9, 2)),
            q.QConv1D(3, 3, strides=2, activation="relu"),
            keras.layers.Reshape((12,)),
            q.QDense(2),
        ]
    )


NETWORKS = {
    "mlp": (mlp, scope()),
    "saturating": (mlp, scope(SATURATING)),
    "convergent": (mlp, scope(SATURATING, "RND_CONV")),
    "truncating": (mlp, scope(SATURATING, "TRN")),
    "cnn": (cnn, scope()),
    "residual": (residual, scope()),
    "lines": (lines, scope(SATURATING)),
}


def network(name, seed=0):
    """A model whose quantisers have bits of their own, and have seen some samples."""
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    build, (everywhere, datalane) = NETWORKS[name]
    with everywhere, datalane:
        model = build()
    for weight in model.weights:
        kind = weight.path.rpartition("/")[2]
        if kind in ("f", "b"):
            weight.assign(weight.numpy() + rng.integers(-1, 2, weight.shape))
        elif kind in ("bias", "bn_beta", "moving_mean"):
            weight.assign(rng.normal(0, 0.5, weight.shape))
    shape = model.inputs[0].shape[1:]
    trace_minmax(model, rng.normal(0, 1, (32, *shape)).astype(np.float32))
    return model, shape
