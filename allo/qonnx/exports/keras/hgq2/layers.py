"""The layers of HGQ2 that have weights or quantisers of their own, as nodes of QONNX."""

from __future__ import annotations

from typing import Any

from ..layers import LAYERS as PLAIN
from ..layers import Write, convolved, merge
from .packages import array
from .writing import HgqWriter


def _dense(writer: HgqWriter, layer: Any, inputs: list[str]) -> str:
    name = writer.begun(layer, inputs[0])
    name = writer("MatMul", name, writer.weights(array(layer.qkernel)))
    if layer.bias is not None:
        name = writer("Add", name, array(layer.qbias))
    return writer.ended(layer, name)


def _convolution(writer: HgqWriter, layer: Any, inputs: list[str]) -> str:
    name = writer.begun(layer, inputs[0])
    kernel = array(layer.qkernel)
    dims = kernel.ndim - 2
    weights = writer.weights(kernel.transpose(dims + 1, dims, *range(dims)))
    bias = [array(layer.qbias)] if layer.use_bias else []
    sizes, groups = kernel.shape[:dims], int(layer.groups)
    return writer.ended(layer, convolved(writer, layer, name, weights, sizes, *bias, groups=groups))


def _norm(writer: HgqWriter, layer: Any, inputs: list[str]) -> str:
    factor, addend = (array(x) for x in layer.qscaler_and_qoffset)
    shape = [1] * len(writer.shape)
    shape[layer.axis if isinstance(layer.axis, int) else layer.axis[0]] = -1
    name = writer.begun(layer, inputs[0])
    name = writer("Mul", name, factor.reshape(shape))
    return writer.ended(layer, writer("Add", name, addend.reshape(shape)))


def _quantiser(writer: HgqWriter, layer: Any, inputs: list[str]) -> str:
    return writer.quantised(inputs[0], layer, writer.shapes[0])


LAYERS: dict[str, Write] = {
    **PLAIN,
    "QDense": _dense,
    "QConv1D": _convolution,
    "QConv2D": _convolution,
    "QBatchNormalization": _norm,
    "QAdd": merge("Add"),
    "QSubtract": merge("Sub"),
    "QMultiply": merge("Mul"),
    "Quantizer": _quantiser,
}
"""What writes a layer, by the name of its class or of one that it derives from."""
