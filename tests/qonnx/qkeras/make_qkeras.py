"""Networks of QKeras with what QKeras computes of them: files for tests that run without TensorFlow.

``scripts/qkeras`` runs this in an environment of its own, with QKeras 0.9 and TensorFlow 2.17 on Keras 2.
Each network has random weights by its seed, and some are trained for a few steps.

* ``networks.zip`` has them as ``NAME.h5``, and one of them in the other forms of files too.
* ``expected.npz`` has inputs ``NAME/x``, some of them far beyond the range of quantisers, and ``NAME/y``,
  what ``model.predict`` gives.
* ``quantisers.npz`` has what single quantisers make of a vector, and of kernels by channel. QKeras gives
  ``x + (q - x)`` in float32, for a gradient that passes through, which is ``q`` but for rounding;
  ``use_ste=False`` gives ``q`` here.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path

os.environ |= {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import numpy as np
import qkeras
import tensorflow as tf
from qkeras import (
    QActivation,
    QAveragePooling2D,
    QBatchNormalization,
    QConv1D,
    QConv2D,
    QConv2DBatchnorm,
    QDense,
    QDepthwiseConv2D,
    QDepthwiseConv2DBatchnorm,
    QGlobalAveragePooling2D,
    QSeparableConv1D,
    QSeparableConv2D,
    binary,
    quantized_bits,
    quantized_po2,
    quantized_relu,
    quantized_relu_po2,
    stochastic_binary,
    stochastic_ternary,
    ternary,
)
from tensorflow.keras import Model, Sequential
from tensorflow.keras import layers as k

SAMPLES = 24


def bits(n, i=0, **more):
    """A quantiser whose scale is a constant power of two."""
    return quantized_bits(n, i, alpha=more.pop("alpha", 1), **more)


def jets():
    """The shape of hls4ml's examples: six bits throughout."""
    return Sequential(
        [
            k.Input((16,)),
            QActivation(quantized_bits(8, 2)),
            QDense(24, kernel_quantizer=bits(6), bias_quantizer=bits(6), name="fc1"),
            QActivation("quantized_relu(6,1)"),
            QDense(16, kernel_quantizer=bits(6), bias_quantizer=bits(6), name="fc2"),
            QActivation(quantized_relu(6, 1)),
            QDense(5, kernel_quantizer=bits(6), bias_quantizer=bits(6), name="out"),
        ]
    )


def fitted():
    """Scales of powers of two that are taken from the weights, which is QKeras's default."""
    return Sequential(
        [
            k.Input((10,)),
            QActivation("quantized_bits(7,1,keep_negative=True)"),
            QDense(12, kernel_quantizer=quantized_bits(4, 0), bias_quantizer=quantized_bits(5, 1)),
            QActivation("quantized_relu(4,2)"),
            QDense(8, kernel_quantizer=ternary(), bias_quantizer=quantized_po2(4)),
            QActivation("quantized_tanh(5,symmetric=True)"),
            QDense(8, kernel_quantizer=stochastic_ternary(), use_bias=False),
            QActivation("quantized_sigmoid(5)"),
            QDense(4, kernel_quantizer=binary(), bias_quantizer=quantized_bits(6, 2)),
        ]
    )


def real():
    """Scales that are no powers of two, and a softmax at the end."""
    return Sequential(
        [
            k.Input((10,)),
            QActivation(quantized_bits(6, 1, symmetric=1)),
            QDense(12, kernel_quantizer=quantized_bits(4, 0, alpha="auto"), use_bias=False),
            k.BatchNormalization(),
            QActivation("quantized_relu(5,1)"),
            QDense(8, kernel_quantizer=binary(alpha="auto"), activation="quantized_relu(5,2)"),
            QDense(
                8, kernel_quantizer=bits(4, alpha=0.3), activation=quantized_bits(6, 2, alpha=0.7)
            ),
            QDense(5, kernel_quantizer=ternary(alpha="auto"), bias_quantizer=bits(5, 1)),
            k.Activation("softmax"),
        ]
    )


def signs():
    """One bit: signs of weights and activations, zeros and ones, three levels."""
    return Sequential(
        [
            k.Input((12,)),
            QActivation(binary(alpha=1)),
            QDense(16, kernel_quantizer=stochastic_binary(alpha=1.0), use_bias=False),
            QActivation(ternary(alpha=1.0, threshold=1.5)),
            QDense(12, kernel_quantizer=ternary(alpha=1.0), use_bias=False),
            QActivation("binary(use_01=True,alpha=1)"),
            QDense(8, kernel_quantizer=binary(alpha=0.5), use_bias=False),
            QActivation("stochastic_ternary(alpha=1.0)"),
            QDense(8, kernel_quantizer=bits(1), use_bias=False),
            QActivation("binary_tanh"),
            QDense(4, kernel_quantizer=quantized_po2(3, 1), bias_quantizer=bits(4, 1)),
        ]
    )


def curves():
    """Functions of QKeras between quantisers."""
    x = i = k.Input((8,))
    x = QActivation(quantized_bits(8, 2))(x)
    parts = [
        QActivation(name, name=f"part{n}")(x)
        for n, name in enumerate(
            [
                "hard_sigmoid",
                "smooth_tanh",
                "quantized_relu(6,2,negative_slope=0.25)",
                "quantized_relu(5,1,use_sigmoid=1)",
                "quantized_po2(4)",
                "quantized_relu_po2(4,2)",
                "quantized_hswish(8,2,relu_shift=3,relu_upper_bound=4)",
                "quantized_bits(4,1,keep_negative=False)",
            ]
        )
    ]
    x = k.Concatenate()([QActivation(bits(8, 2))(part) for part in parts])
    x = QDense(6, kernel_quantizer=bits(4), bias_quantizer=bits(6, 1), activation="hard_tanh")(x)
    return Model(i, QActivation("quantized_bits(8,1)")(x))


def images():
    """Convolutions with both paddings, pools and a batch norm."""
    return Sequential(
        [
            k.Input((8, 8, 2)),
            QActivation(quantized_bits(6, 1)),
            QConv2D(4, 3, padding="same", kernel_quantizer=bits(4), bias_quantizer=bits(5, 1)),
            QActivation("quantized_relu(4,1)"),
            k.MaxPooling2D(2),
            QConv2D(
                6,
                (2, 3),
                strides=(2, 1),
                kernel_quantizer=quantized_bits(4, 0),
                bias_quantizer=bits(5, 1),
                activation="quantized_relu(5,1)",
            ),
            QAveragePooling2D(2, average_quantizer=bits(4), activation=bits(6, 1)),
            k.Flatten(),
            QDense(3, kernel_quantizer=bits(5), bias_quantizer=bits(6)),
        ]
    )


def depthwise():
    """MobileNet's layers: by channel, then across channels."""
    return Sequential(
        [
            k.Input((7, 7, 3)),
            QActivation(quantized_bits(6, 1)),
            k.ZeroPadding2D(((0, 1), (1, 0))),
            QDepthwiseConv2D(
                3,
                strides=2,
                depth_multiplier=2,
                depthwise_quantizer=bits(4),
                bias_quantizer=bits(5),
            ),
            QActivation("quantized_relu(5,1)"),
            QSeparableConv2D(
                4,
                2,
                depthwise_quantizer=bits(3),
                pointwise_quantizer=quantized_bits(4, 0),
                bias_quantizer=bits(6, 1),
            ),
            QActivation("quantized_relu(5,2)"),
            QGlobalAveragePooling2D(average_quantizer=bits(6), activation=bits(7, 1)),
            k.Dropout(0.5),
            QDense(3, kernel_quantizer=quantized_po2(4, 1), use_bias=False),
        ]
    )


def residual():
    """A sum of two branches, a product, a difference, and a layer that is applied twice."""
    i = k.Input((6, 6, 2))
    x = QActivation(quantized_bits(5, 1))(i)
    twice = QConv2D(2, 3, padding="same", kernel_quantizer=bits(3), use_bias=False, name="twice")
    y = QActivation("quantized_relu(4,1)")(twice(x))
    z = QActivation("quantized_relu(4,1)")(twice(y))
    x = k.Add()([x, y, z])
    x = QActivation(bits(5, 2))(x)
    x = k.Subtract()([x, y])
    x = k.Multiply()([QActivation(bits(4, 2))(x), z])
    x = QActivation("quantized_relu(5,2)")(x)
    x = k.Reshape((3, -1))(x)
    x = k.Permute((2, 1))(x)
    x = QConv1D(3, 3, strides=2, padding="same", kernel_quantizer=bits(4), bias_quantizer=bits(4))(
        x
    )
    x = k.ReLU(max_value=1.5)(x)
    x = QActivation(bits(5, 1))(x)
    return Model(i, QDense(2, kernel_quantizer=bits(4), bias_quantizer=bits(4))(k.Flatten()(x)))


def norms():
    """Batch norms: of quantised parameters, and folded into the weights before these are quantised."""
    return Sequential(
        [
            k.Input((6, 6, 2)),
            QActivation(quantized_bits(6, 1)),
            QConv2D(4, 3, kernel_quantizer=bits(4), use_bias=False),
            QBatchNormalization(),
            QActivation("quantized_relu(5,2)"),
            QConv2DBatchnorm(4, 2, kernel_quantizer=bits(5, 1), bias_quantizer=bits(7, 2)),
            QActivation("quantized_relu(5,2)"),
            QDepthwiseConv2DBatchnorm(2, depthwise_quantizer=bits(5, 1), bias_quantizer=bits(7, 2)),
            QActivation("quantized_relu(5,2)"),
            k.Flatten(),
            QDense(4, kernel_quantizer=bits(4), bias_quantizer=bits(4)),
            QBatchNormalization(
                gamma_quantizer=bits(6, 1),
                beta_quantizer=bits(6, 1),
                mean_quantizer=None,
                variance_quantizer=quantized_relu_po2(5),
            ),
            QActivation(bits(7, 2)),
        ]
    )


def lines():
    """One dimension: separable, dilated, and pools."""
    return Sequential(
        [
            k.Input((16, 2)),
            QActivation(quantized_bits(6, 1)),
            QConv1D(4, 3, dilation_rate=2, kernel_quantizer=bits(4), bias_quantizer=bits(4)),
            QActivation("quantized_relu(4,1)"),
            k.MaxPooling1D(2),
            QSeparableConv1D(
                4,
                2,
                depthwise_quantizer=bits(4),
                pointwise_quantizer=bits(4),
                bias_quantizer=bits(4),
            ),
            QActivation("quantized_relu(6,1)"),
            k.GlobalMaxPooling1D(),
            QDense(3, kernel_quantizer=bits(4), bias_quantizer=bits(4)),
        ]
    )


def digits():
    """Trained, on sums of the halves of a vector."""
    return Sequential(
        [
            k.Input((16,)),
            QDense(12, kernel_quantizer=quantized_bits(5, 0), bias_quantizer=bits(6, 1)),
            k.BatchNormalization(),
            QActivation("quantized_relu(5,2)"),
            QDense(3, kernel_quantizer=quantized_bits(5, 0), bias_quantizer=bits(6, 1)),
        ]
    )


NETWORKS = (
    jets, fitted, real, signs, curves, images, depthwise, residual, norms, lines, digits,
)  # fmt: skip
TRAINED = ("jets", "norms", "digits")

VECTORS = [
    "quantized_bits(4,0)", "quantized_bits(4,1,1)", "quantized_bits(5,2,keep_negative=False)",
    "quantized_bits(1,0)", "quantized_bits(6,1,alpha=0.3)", "quantized_bits(3,4)",
    "quantized_relu(4,0)", "quantized_relu(3,2)", "quantized_relu(5,1,negative_slope=0.25)",
    "quantized_relu(5,0,use_sigmoid=1)", "quantized_relu(4,1,1)",
    "quantized_tanh(4)", "quantized_tanh(5,symmetric=True)", "quantized_tanh(4,use_real_tanh=True)",
    "quantized_sigmoid(4)", "quantized_sigmoid(5,symmetric=True)",
    "quantized_sigmoid(4,use_real_sigmoid=True)",
    "quantized_po2(4)", "quantized_po2(3,1)",
    "quantized_po2(4,log2_rounding='floor')",
    "quantized_relu_po2(4)", "quantized_relu_po2(3,2)",
    "quantized_hswish(8,2)",
    "binary()", "binary(alpha=0.5)", "binary(use_01=True)", "stochastic_binary(alpha=1.0)",
    "ternary()", "ternary(alpha=2.0,threshold=0.5)", "stochastic_ternary(threshold=0.2)",
    "hard_sigmoid", "smooth_sigmoid", "hard_tanh", "smooth_tanh", "binary_sigmoid", "binary_tanh",
]  # fmt: skip
KERNELS = [
    "quantized_bits(4,0,alpha='auto')", "quantized_bits(4,0,alpha='auto_po2')",
    "quantized_bits(3,1,alpha='auto_po2')", "quantized_bits(8,0,alpha='auto')", "quantized_bits(2,0,1)",
    "ternary(alpha='auto')", "ternary(alpha='auto_po2')", "ternary(alpha='auto',number_of_unrolls=2)",
    "stochastic_ternary(alpha='auto_po2')", "binary(alpha='auto')", "binary(alpha='auto_po2')",
    "binary(use_01=True,alpha='auto')", "stochastic_binary(alpha='auto_po2')",
    "quantized_po2(4)", "quantized_po2(5,0.5)", "quantized_relu_po2(6,2048)",
    "quantized_relu_po2(6,quadratic_approximation=True)", "quantized_relu_po2(4,negative_slope=0.25)",
    "quantized_relu(4,0)",
]  # fmt: skip


def randomised(model, rng):
    """Weights that use the range of their quantisers, and statistics that are none of a fresh layer."""
    for layer in model.layers:
        new = []
        for weight, array in zip(layer.weights, layer.get_weights(), strict=True):
            kind = weight.name.rpartition("/")[2].partition(":")[0]
            if kind.endswith("kernel"):
                array = np.clip(rng.normal(0, 0.45, array.shape), -1, 1)
            elif kind in ("bias", "beta", "moving_mean"):
                array = rng.normal(0, 0.4, array.shape)
            elif kind in ("gamma", "moving_variance"):
                array = rng.uniform(0.4, 2.0, array.shape)
            new.append(array)
        layer.set_weights(new)


def trained(model, rng):
    """A few steps of gradient descent, by which weights and statistics become those of training."""
    x = rng.normal(0, 1, (256, *model.input_shape[1:])).astype(np.float32)
    half = x.reshape(256, 2, -1).sum(-1)
    y = np.zeros((256, model.output_shape[-1]), np.float32)
    y[np.arange(256), (half[:, 0] > half[:, 1]) + 0] = 1
    model.compile("adam", "mse")
    model.fit(x, y, batch_size=32, epochs=3, verbose=0)


def save(target, folder):
    arrays = {}
    for seed, build in enumerate(NETWORKS):
        name = build.__name__
        tf.keras.backend.clear_session()
        tf.random.set_seed(seed)
        np.random.seed(seed)
        rng = np.random.default_rng(seed)
        model = build()
        randomised(model, rng)
        if name in TRAINED:
            trained(model, rng)
        Model.save(model, folder / f"{name}.h5", include_optimizer=False)
        x = rng.normal(0, 1.2, (SAMPLES, *model.input_shape[1:])).astype(np.float32)
        x[::6] *= 9
        arrays[f"{name}/x"] = x
        arrays[f"{name}/y"] = model.predict(x, verbose=0)
    np.savez_compressed(target / "expected.npz", **arrays)
    tf.keras.backend.clear_session()
    model = tf.keras.models.load_model(folder / "norms.h5", custom_objects=custom(), compile=False)
    model.save(folder / "norms.keras")
    (folder / "beside.json").write_text(model.to_json())
    model.save_weights(folder / "beside.weights.h5")
    (folder / "older.json").write_text(model.to_json())
    model.save_weights(folder / "older.h5")
    with zipfile.ZipFile(
        target / "networks.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9
    ) as into:
        for path in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(path.name)  # without a date
            entry.compress_type = zipfile.ZIP_DEFLATED
            into.writestr(entry, path.read_bytes())


def custom():
    objects = {}
    qkeras.utils._add_supported_quantized_objects(objects)
    return objects


def single(folder):
    rng = np.random.default_rng(5)
    x = rng.normal(0, 1.5, 160).astype(np.float32)
    x[:40] = np.round(x[:40] * 8) / 16  # ties
    x[40:44] = (0, -0.0, 9, -9)
    kernel = rng.normal(0, 0.4, (3, 3, 2, 5)).astype(np.float32)
    vector = rng.normal(0, 0.4, 6).astype(np.float32)
    arrays = {"x": x, "kernel": kernel, "vector": vector}
    for names, texts in ((("x",), VECTORS), (("kernel", "vector"), KERNELS)):
        for name in names:
            for text in texts:
                quantiser = qkeras.get_quantizer(text)
                if hasattr(quantiser, "use_ste"):
                    quantiser.use_ste = False
                arrays[f"{name}/{text}"] = np.asarray(quantiser(tf.constant(arrays[name])))
    np.savez_compressed(folder / "quantisers.npz", **arrays)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    single(target)
    with tempfile.TemporaryDirectory() as folder:
        save(target, Path(folder))
    print(json.dumps({"qkeras": qkeras.__version__, "tensorflow": tf.__version__}))
