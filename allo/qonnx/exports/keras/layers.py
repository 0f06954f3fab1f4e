"""The layers of HGQ2 and Keras that move or compute, as nodes of QONNX; channels stand last."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .packages import array
from .writing import Writer

Write = Callable[[Writer, Any, list[str]], str]

_CURVES = {
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softplus": "Softplus",
    "elu": "Elu",
}


def _quantised_input(writer: Writer, layer: Any, name: str) -> str:
    if not getattr(layer, "enable_iq", False):
        return name
    return writer.quantised(name, layer.iq, writer.shapes[0])


def _ended(writer: Writer, layer: Any, name: str) -> str:
    """What stands behind a layer: its activation, and its quantiser of results."""
    name = _bent(writer, layer, name, getattr(layer, "activation", None))
    if not getattr(layer, "enable_oq", False):
        return name
    return writer.quantised(name, layer.oq, writer.shape)


def _bent(writer: Writer, layer: Any, name: str, activation: Any) -> str:
    kind = getattr(activation, "__name__", "linear") if activation else "linear"
    if kind == "linear":
        return name
    if kind not in _CURVES:
        raise writer.refusal(
            layer, f"with the activation {kind!r}", f"linear, {', '.join(_CURVES)} are supported."
        )
    return writer(_CURVES[kind], name)


def _dense(writer: Writer, layer: Any, inputs: list[str]) -> str:
    name = _quantised_input(writer, layer, inputs[0])
    name = writer("MatMul", name, writer.weights(array(layer.qkernel)))
    if layer.bias is not None:
        name = writer("Add", name, array(layer.qbias))
    return _ended(writer, layer, name)


def _convolution(writer: Writer, layer: Any, inputs: list[str]) -> str:
    kernel = array(layer.qkernel)
    dims = kernel.ndim - 2
    name = _first(writer, layer, _quantised_input(writer, layer, inputs[0]), dims)
    turned = kernel.transpose(dims + 1, dims, *range(dims))
    bias = [array(layer.qbias)] if layer.use_bias else []
    name = writer(
        "Conv",
        name,
        writer.weights(turned),
        *bias,
        kernel_shape=list(kernel.shape[:dims]),
        strides=list(layer.strides),
        dilations=list(layer.dilation_rate),
        group=int(layer.groups),
        **_padding(writer, layer),
    )
    return _ended(writer, layer, _last(writer, name, dims))


def _padding(writer: Writer, layer: Any) -> dict[str, Any]:
    if layer.padding == "valid":
        return {}
    if layer.padding == "same":
        return {"auto_pad": "SAME_UPPER"}
    raise writer.refusal(
        layer, f"with padding {layer.padding!r}", "'valid' and 'same' are supported."
    )


def _first(writer: Writer, layer: Any, name: str, dims: int) -> str:
    """Channels before the image."""
    if layer.data_format != "channels_last":
        raise writer.refusal(layer, "with channels first", "channels_last is supported.")
    return writer("Transpose", name, perm=[0, dims + 1, *range(1, dims + 1)])


def _last(writer: Writer, name: str, dims: int) -> str:
    return writer("Transpose", name, perm=[0, *range(2, dims + 2), 1])


def _pool(op: str) -> Write:
    def write(writer: Writer, layer: Any, inputs: list[str]) -> str:
        name = _quantised_input(writer, layer, inputs[0])
        dims = len(layer.pool_size)
        if op == "AveragePool" and layer.padding != "valid":
            raise writer.refusal(layer, "with padding", "padding='valid' is supported.")
        name = writer(
            op,
            _first(writer, layer, name, dims),
            kernel_shape=list(layer.pool_size),
            strides=list(layer.strides),
            **_padding(writer, layer),
        )
        return _ended(writer, layer, _last(writer, name, dims))

    return write


def _global(op: str) -> Write:
    def write(writer: Writer, layer: Any, inputs: list[str]) -> str:
        name = _quantised_input(writer, layer, inputs[0])
        image = writer.shapes[0][1:-1]
        dims = len(image)
        name = writer(
            op, _first(writer, layer, name, dims), kernel_shape=list(image), strides=[1] * dims
        )
        if layer.keepdims:
            return _ended(writer, layer, _last(writer, name, dims))
        return _ended(writer, layer, _reshaped(writer, name))

    return write


def _reshaped(writer: Writer, name: str) -> str:
    return writer("Reshape", name, np.array([1, *writer.shape[1:]], np.int64))


def _norm(writer: Writer, layer: Any, inputs: list[str]) -> str:
    factor, addend = (array(x) for x in layer.qscaler_and_qoffset)
    shape = [1] * len(writer.shape)
    shape[layer.axis if isinstance(layer.axis, int) else layer.axis[0]] = -1
    name = _quantised_input(writer, layer, inputs[0])
    name = writer("Mul", name, factor.reshape(shape))
    return _ended(writer, layer, writer("Add", name, addend.reshape(shape)))


def _merge(op: str) -> Write:
    def write(writer: Writer, layer: Any, inputs: list[str]) -> str:
        if getattr(layer, "enable_iq", False):
            inputs = [
                writer.quantised(name, quantiser, shape)
                for name, quantiser, shape in zip(inputs, layer.iq, writer.shapes, strict=True)
            ]
        name = inputs[0]
        for other in inputs[1:]:
            name = writer(op, name, other)
        return _ended(writer, layer, name)

    return write


def _concat(writer: Writer, layer: Any, inputs: list[str]) -> str:
    return writer("Concat", *inputs, axis=int(layer.axis))


def _shaped(writer: Writer, layer: Any, inputs: list[str]) -> str:
    return inputs[0] if prod(writer.shape[1:]) == 0 else _reshaped(writer, inputs[0])


def _permuted(writer: Writer, layer: Any, inputs: list[str]) -> str:
    return writer("Transpose", inputs[0], perm=[0, *layer.dims])


def _activation(writer: Writer, layer: Any, inputs: list[str]) -> str:
    return _ended(writer, layer, _quantised_input(writer, layer, inputs[0]))


def _relu(writer: Writer, layer: Any, inputs: list[str]) -> str:
    if layer.negative_slope or layer.threshold:
        raise writer.refusal(layer, "with a slope or a threshold", "a plain ReLU is supported.")
    name = writer("Relu", inputs[0])
    return name if layer.max_value is None else writer("Min", name, float(layer.max_value))


def _quantiser(writer: Writer, layer: Any, inputs: list[str]) -> str:
    return writer.quantised(inputs[0], layer, writer.shapes[0])


def _same(writer: Writer, layer: Any, inputs: list[str]) -> str:
    return inputs[0]


LAYERS: dict[str, Write] = {
    "QDense": _dense,
    "QConv1D": _convolution,
    "QConv2D": _convolution,
    "QBatchNormalization": _norm,
    "Activation": _activation,
    "QAdd": _merge("Add"),
    "QSubtract": _merge("Sub"),
    "QMultiply": _merge("Mul"),
    "Quantizer": _quantiser,
    "Add": _merge("Add"),
    "Concatenate": _concat,
    "Flatten": _shaped,
    "Reshape": _shaped,
    "Permute": _permuted,
    "ReLU": _relu,
    "Dropout": _same,
    **{
        f"{kind}Pooling{n}D": _pool(op)
        for n in (1, 2)
        for kind, op in (("Max", "MaxPool"), ("Average", "AveragePool"))
    },
    **{
        f"Global{kind}Pooling{n}D": _global(op)
        for n in (1, 2)
        for kind, op in (("Max", "MaxPool"), ("Average", "AveragePool"))
    },
}
"""What writes a layer, by the name of its class or of one that it derives from."""
