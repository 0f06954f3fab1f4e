"""The layers of QKeras and Keras 2, as nodes of QONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ....reading import Array
from ..layers import LAYERS as PLAIN
from ..layers import Write, convolved, merge
from .constants import Stored
from .network import Layer
from .specs import Spec, spec_of
from .writing import QWriter


def _dense(writer: QWriter, layer: Layer, inputs: list[str]) -> str:
    kernel = _weights(layer, "kernel")
    name = writer("MatMul", inputs[0], _kernel(writer, "kernel_quantizer", kernel))
    for bias in _bias(writer, layer):
        name = writer("Add", name, bias)
    return writer.ended(layer, name)


def _convolution(writer: QWriter, layer: Layer, inputs: list[str]) -> str:
    return _filtered(writer, layer, inputs[0], _weights(layer, "kernel"), _bias(writer, layer))


def _filtered(
    writer: QWriter, layer: Layer, name: str, kernel: Array, bias: Sequence[Array]
) -> str:
    dims = kernel.ndim - 2
    order = (dims + 1, dims, *range(dims))
    weights = _kernel(writer, "kernel_quantizer", kernel, order)
    sizes, groups = kernel.shape[:dims], int(layer.groups)
    return writer.ended(layer, convolved(writer, layer, name, weights, sizes, *bias, groups=groups))


def _depthwise(writer: QWriter, layer: Layer, inputs: list[str]) -> str:
    kernel = _weights(layer, "depthwise_kernel")
    name = _by_channel(writer, layer, inputs[0], kernel, _bias(writer, layer))
    return writer.ended(layer, name)


def _by_channel(
    writer: QWriter, layer: Layer, name: str, kernel: Array, bias: Sequence[Array] = ()
) -> str:
    """``kernel`` is ``[…, channels, multiplier]``, and each channel has its own outputs."""
    dims = kernel.ndim - 2
    *sizes, channels, _ = kernel.shape
    order = (dims, dims + 1, *range(dims))
    weights = _kernel(writer, "depthwise_quantizer", kernel, order, (-1, 1, *sizes))
    return convolved(writer, layer, name, weights, sizes, *bias, groups=channels)


def _separable(writer: QWriter, layer: Layer, inputs: list[str]) -> str:
    name = _by_channel(writer, layer, inputs[0], _weights(layer, "depthwise_kernel"))
    kernel = _weights(layer, "pointwise_kernel")
    dims = kernel.ndim - 2
    order = (dims + 1, dims, *range(dims))
    weights = _kernel(writer, "pointwise_quantizer", kernel, order)
    ones = {key: [1] * dims for key in ("strides", "dilation_rate")}
    at_once = replace(layer, config={**layer.config, **ones, "padding": "valid"})
    bias = _bias(writer, layer)
    name = convolved(writer, at_once, name, weights, [1] * dims, *bias, groups=1)
    return writer.ended(layer, name)


def _folded(writer: QWriter, layer: Layer, inputs: list[str]) -> str:
    """A convolution whose weights take up the batch norm behind it before they are quantised."""
    inverse, bias = _folding(writer, layer)
    kernel = np.asarray(inverse * _weights(layer, "kernel"), np.float32)
    return _filtered(writer, layer, inputs[0], kernel, [bias])


def _folded_depthwise(writer: QWriter, layer: Layer, inputs: list[str]) -> str:
    inverse, bias = _folding(writer, layer)
    kernel = _weights(layer, "depthwise_kernel")
    kernel = np.asarray(inverse.reshape(kernel.shape[2:]) * kernel, np.float32)
    return writer.ended(layer, _by_channel(writer, layer, inputs[0], kernel, [bias]))


def _folding(writer: QWriter, layer: Layer) -> tuple[Array, Array]:
    """The factor of a batch norm, and the quantised bias behind it."""
    mean, variance = (_weights(layer, f"moving_{kind}") for kind in ("mean", "variance"))
    inverse = _inverse(variance, layer) * layer.weights.get("gamma", np.float32(1))
    bias = layer.weights.get("bias", np.float32(0)) - mean
    moved = inverse * bias + layer.weights.get("beta", np.float32(0))
    return inverse, writer.values("bias_quantizer", np.asarray(moved, np.float32))


def _inverse(variance: Array, layer: Layer) -> Array:
    return np.float32(1) / np.sqrt(variance + np.float32(layer.epsilon))


def _norm(writer: QWriter, layer: Layer, inputs: list[str]) -> str:
    """``inverse * x + (beta - inverse * mean)``, of quantised parameters."""
    found = {
        name: writer.values(f"{name}_quantizer", _weights(layer, key), scaled=scaled)
        for name, key, scaled in (
            ("gamma", "gamma", True),
            ("beta", "beta", False),
            ("mean", "moving_mean", False),
            ("variance", "moving_variance", True),
        )
        if key in layer.weights or key.startswith("moving")
    }
    inverse = _inverse(found["variance"], layer) * found.get("gamma", np.float32(1))
    addend = found.get("beta", np.float32(0)) - found["mean"] * inverse
    axis = layer.axis if isinstance(layer.axis, int) else layer.axis[0]
    shape = [1] * len(writer.shape)
    shape[axis] = -1
    name = writer("Mul", inputs[0], inverse.reshape(shape))
    return writer("Add", name, addend.reshape(shape))


def _average(writer: QWriter, layer: Layer, inputs: list[str]) -> str:
    """A mean whose division is by a factor that is quantised too."""
    plain = layer.kind.removeprefix("Q")
    bare = replace(layer, kind=plain, config={**layer.config, "activation": None})
    name = PLAIN[plain](writer, bare, inputs)
    sizes = layer.config.get("pool_size") or writer.shapes[0][1:-1]
    area = prod(sizes)
    if layer.config.get("average_quantizer") is not None:
        factor = writer.values("average_quantizer", np.asarray(1 / area, np.float32).reshape(1))
        name = writer("Mul", writer("Mul", name, float(area)), float(factor[0]))
    return writer.ended(layer, name)


def _activation(writer: QWriter, layer: Layer, inputs: list[str]) -> str:
    spec = spec_of(layer.activation)
    if spec is None:
        return inputs[0]
    if layer.kind == "Activation" and spec.kind == "hard_sigmoid":  # Keras has another than QKeras
        name = writer("Add", writer("Mul", inputs[0], 0.2), 0.5)
        return writer("Min", writer("Max", name, 0.0), 1.0)
    return writer.activated(inputs[0], spec)


def _leaky(writer: QWriter, layer: Layer, inputs: list[str]) -> str:
    return writer("LeakyRelu", inputs[0], alpha=float(layer.alpha))


def _softmax(writer: QWriter, layer: Layer, inputs: list[str]) -> str:
    if layer.axis not in (-1, len(writer.shape) - 1):
        raise writer.refusal(layer, f"over dimension {layer.axis}", "the last one is supported.")
    return writer.activated(inputs[0], Spec("softmax", {}))


def _kernel(
    writer: QWriter,
    setting: str,
    kernel: Array,
    order: Sequence[int] = (),
    shape: Sequence[int] = (),
) -> str:
    """The name of a layer's weights behind their quantiser, in another order of dimensions."""

    def turned(array: Array) -> Array:
        array = array.transpose(order) if order else array
        return array.reshape(shape) if shape else array

    found = writer.stored(setting, kernel, scaled=True)
    if found is None:
        return writer.constant(turned(kernel))
    if found.unit.size > 1:
        unit = np.broadcast_to(found.unit, kernel.shape)
        unit = turned(unit)
        return writer.held(Stored(turned(found.levels), _short(unit)))
    return writer.held(Stored(turned(found.levels), found.unit.reshape(())))


def _short(unit: Array) -> Array:
    """With an extent of 1 along each dimension where nothing varies."""
    for axis in range(unit.ndim):
        first = unit.take([0], axis)
        unit = first if np.array_equal(unit, np.broadcast_to(first, unit.shape)) else unit
    return unit


def _bias(writer: QWriter, layer: Layer) -> list[Array]:
    if not layer.use_bias:
        return []
    return [writer.values("bias_quantizer", _weights(layer, "bias"))]


def _weights(layer: Layer, name: str) -> Array:
    found = layer.weights.get(name)
    if found is None:
        raise missing(layer, name)
    return np.asarray(found, np.float32)


def missing(layer: Layer, name: str) -> Exception:
    """The error for weights that are nowhere."""
    from allo.dialects.diagnostics import ModelError

    return ModelError(
        f"Layer {layer.name!r} has no weights {name!r}; there are {', '.join(layer.weights) or 'none'}.",
        help="build the model, or save it with its weights: model.save('network.h5').",
    )


LAYERS: dict[str, Write] = {
    **PLAIN,
    **dict.fromkeys(("QDense", "Dense"), _dense),
    **dict.fromkeys(("QConv1D", "QConv2D", "Conv1D", "Conv2D"), _convolution),
    **dict.fromkeys(("QDepthwiseConv2D", "DepthwiseConv2D"), _depthwise),
    **dict.fromkeys(("QSeparableConv1D", "QSeparableConv2D"), _separable),
    **dict.fromkeys(("QBatchNormalization", "BatchNormalization"), _norm),
    **dict.fromkeys(("QAveragePooling2D", "QGlobalAveragePooling2D"), _average),
    **dict.fromkeys(("QActivation", "Activation"), _activation),
    "QConv2DBatchnorm": _folded,
    "QDepthwiseConv2DBatchnorm": _folded_depthwise,
    "LeakyReLU": _leaky,
    "Softmax": _softmax,
    "Subtract": merge("Sub"),
    "Multiply": merge("Mul"),
}
"""What writes a layer, by the name of its class."""
