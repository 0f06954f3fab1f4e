"""The layers of Keras that have no weights, as nodes of QONNX; channels stand last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...reading import Array
from .writing import Writer

Write = Callable[[Any, Any, list[str]], str]
"""Writes a layer with these inputs, and gives the name of its result."""


def convolved(
    writer: Writer,
    layer: Any,
    name: str,
    kernel: str,
    sizes: Sequence[int],
    *bias: Array,
    groups: int,
) -> str:
    """A convolution of an image whose channels stand last.

    Args:
        writer: of the graph.
        layer: says strides, dilation and padding.
        name: of the image.
        kernel: the name of the weights, ``[outputs, inputs of a group, …]``.
        sizes: of the windows.
        bias: one for each output, or none.
        groups: of channels.
    """
    name = writer(
        "Conv",
        channels_first(writer, layer, name, len(sizes)),
        kernel,
        *bias,
        kernel_shape=list(sizes),
        strides=list(layer.strides),
        dilations=list(layer.dilation_rate),
        group=groups,
        **_padding(writer, layer),
    )
    return channels_last(writer, name, len(sizes))


def _padding(writer: Writer, layer: Any) -> dict[str, Any]:
    if layer.padding == "valid":
        return {}
    if layer.padding == "same":
        return {"auto_pad": "SAME_UPPER"}
    raise writer.refusal(
        layer, f"with padding {layer.padding!r}", "'valid' and 'same' are supported."
    )


def channels_first(writer: Writer, layer: Any, name: str, dims: int) -> str:
    """Channels before the image."""
    if layer.data_format != "channels_last":
        raise writer.refusal(layer, "with channels first", "channels_last is supported.")
    return writer("Transpose", name, perm=[0, dims + 1, *range(1, dims + 1)])


def channels_last(writer: Writer, name: str, dims: int) -> str:
    """Channels behind the image."""
    return writer("Transpose", name, perm=[0, *range(2, dims + 2), 1])


def _pool(op: str) -> Write:
    def write(writer: Writer, layer: Any, inputs: list[str]) -> str:
        name = writer.begun(layer, inputs[0])
        dims = len(layer.pool_size)
        if op == "AveragePool" and layer.padding != "valid":
            raise writer.refusal(layer, "with padding", "padding='valid' is supported.")
        name = writer(
            op,
            channels_first(writer, layer, name, dims),
            kernel_shape=list(layer.pool_size),
            strides=list(layer.strides),
            **_padding(writer, layer),
        )
        return writer.ended(layer, channels_last(writer, name, dims))

    return write


def _global(op: str) -> Write:
    def write(writer: Writer, layer: Any, inputs: list[str]) -> str:
        name = writer.begun(layer, inputs[0])
        image = writer.shapes[0][1:-1]
        dims = len(image)
        name = writer(
            op,
            channels_first(writer, layer, name, dims),
            kernel_shape=list(image),
            strides=[1] * dims,
        )
        if layer.keepdims:
            return writer.ended(layer, channels_last(writer, name, dims))
        return writer.ended(layer, _reshaped(writer, name))

    return write


def _reshaped(writer: Writer, name: str) -> str:
    return writer("Reshape", name, np.array([1, *writer.shape[1:]], np.int64))


def merge(op: str) -> Write:
    """What writes a layer that takes its inputs together by an operator of two."""

    def write(writer: Writer, layer: Any, inputs: list[str]) -> str:
        inputs = [writer.begun(layer, name, place) for place, name in enumerate(inputs)]
        name = inputs[0]
        for other in inputs[1:]:
            name = writer(op, name, other)
        return writer.ended(layer, name)

    return write


def _concat(writer: Writer, layer: Any, inputs: list[str]) -> str:
    return writer("Concat", *inputs, axis=int(layer.axis))


def _shaped(writer: Writer, layer: Any, inputs: list[str]) -> str:
    return inputs[0] if prod(writer.shape[1:]) == 0 else _reshaped(writer, inputs[0])


def _padded(writer: Writer, layer: Any, inputs: list[str]) -> str:
    """Zeros around an image."""
    pairs = [(p, p) if isinstance(p, int) else tuple(p) for p in layer.padding]
    around = [[0, *(pair[side] for pair in pairs), 0] for side in (0, 1)]
    return writer("Pad", inputs[0], np.asarray(around, np.int64).reshape(-1))


def _permuted(writer: Writer, layer: Any, inputs: list[str]) -> str:
    return writer("Transpose", inputs[0], perm=[0, *layer.dims])


def _activation(writer: Writer, layer: Any, inputs: list[str]) -> str:
    return writer.ended(layer, writer.begun(layer, inputs[0]))


def _relu(writer: Writer, layer: Any, inputs: list[str]) -> str:
    if layer.negative_slope or layer.threshold:
        raise writer.refusal(layer, "with a slope or a threshold", "a plain ReLU is supported.")
    name = writer("Relu", inputs[0])
    return name if layer.max_value is None else writer("Min", name, float(layer.max_value))


def _same(writer: Writer, layer: Any, inputs: list[str]) -> str:
    return inputs[0]


LAYERS: dict[str, Write] = {
    "Activation": _activation,
    "Add": merge("Add"),
    "Concatenate": _concat,
    "Flatten": _shaped,
    "Reshape": _shaped,
    "Permute": _permuted,
    "ZeroPadding2D": _padded,
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
"""What writes a layer of Keras, by the name of its class."""
