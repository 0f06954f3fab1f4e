"""Pooling of levels: maxima of levels, and sums in place of means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from allo.models.graph import Meta, Ref

from ..convert import Converter
from ..functions import evaluate, extents
from ..reading import Node
from ..values import Affine, Floats, Function, Levels, type_of
from .convolutions import padding_of


def max_pool(converter: Converter, node: Node) -> None:
    """``MaxPool``: of levels, or of the sums under a function that rises in each channel."""
    if len(node.outputs) > 1 and node.outputs[1]:
        raise node.refusal("with indices", "the maxima alone are supported.")
    value = converter.function(node, 0)
    if isinstance(value.of, Levels) and not _rises(value):
        _behind(converter, node)
        return
    of = value.of
    shape = converter.graph.shapes[node.outputs[0]]
    dims = len(shape) - 2
    attributes = node.attributes
    args: dict[str, Any] = {
        "self": Ref(of.name),
        "kernel_size": [int(n) for n in attributes["kernel_shape"]],
        "stride": [int(n) for n in attributes.get("strides", [1] * dims)],
        "padding": padding_of(converter, node, attributes["kernel_shape"]),
        "dilation": [int(n) for n in attributes.get("dilations", [1] * dims)],
        "ceil_mode": False,
    }
    dtype = of.dtype if isinstance(of, Levels) else "float32"
    if isinstance(of, Floats) and value.steps:
        args["self"] = Ref(converter.as_floats(node.inputs[0], node))
    name = converter.emit(node, f"aten.max_pool{dims}d.default", args, Meta(shape, dtype))
    if isinstance(of, Floats):
        converter.values[node.outputs[0]] = Function(Floats(name, shape))
    else:
        converter.values[node.outputs[0]] = replace(value, of=Levels(name, shape, of.low, of.high))


def global_max(converter: Converter, node: Node) -> None:
    """``GlobalMaxPool``: the greatest element of each channel."""
    sizes = list(converter.graph.shapes[node.inputs[0]][2:])
    max_pool(converter, replace(node, attributes={**node.attributes, "kernel_shape": sizes}))


def _rises(value: Function) -> bool:
    """Whether a function rises with the level, in each channel."""
    of, ext = value.of, extents(value)
    if isinstance(of, Floats) or not value.monotone or prod(ext[1:]) > 1:
        return False
    ends = np.array([of.low, of.high]).reshape(2, *(1,) * len(ext))
    floats = evaluate(value, np.broadcast_to(ends, (2, *ext)))
    return bool((floats[1] >= floats[0]).all())


def _behind(converter: Converter, node: Node) -> None:
    """Quantise before the pool what is quantised behind it: the greatest level is that of the maximum."""
    found = converter.quantised_before(node)
    if found is None:
        raise node.refusal(
            "of a function that falls in some channel",
            "let the quantiser stand before the pool, or directly behind it.",
        )
    max_pool(converter, found)


def average_pool(converter: Converter, node: Node) -> None:
    """``AveragePool``: a sum of levels, and a scale that is the smaller."""
    attributes = node.attributes
    sizes = [int(n) for n in attributes["kernel_shape"]]
    strides = [int(n) for n in attributes.get("strides", [1] * len(sizes))]
    if any(attributes.get("pads", [0])) or attributes.get("auto_pad", "NOTSET") not in (
        "NOTSET",
        "VALID",
    ):
        raise node.refusal(
            "with padding", "pads of 0 are supported: a Pad node before it adds zeros."
        )
    if attributes.get("ceil_mode"):
        raise node.refusal("with ceil_mode", "ceil_mode=0 is supported.")
    averaged(converter, node, sizes, strides)


def global_average(converter: Converter, node: Node) -> None:
    """``GlobalAveragePool``: the mean of each channel."""
    sizes = list(converter.graph.shapes[node.inputs[0]][2:])
    averaged(converter, node, sizes, [1] * len(sizes))


def averaged(
    converter: Converter, node: Node, sizes: Sequence[int], strides: Sequence[int]
) -> None:
    """The mean of each window."""
    value = converter.settled(node, 0)
    shape = converter.graph.shapes[node.outputs[0]]
    of, affine = value.of, value.affine
    dims, count = len(sizes), prod(sizes)
    if isinstance(of, Floats) or affine is None or prod(affine.scale.shape[2:]) > 1:
        args = {
            "self": Ref(converter.as_floats(node.inputs[0], node)),
            "kernel_size": list(sizes),
            "stride": list(strides),
            "padding": [0] * dims,
            "ceil_mode": False,
            "count_include_pad": False,
        }
        name = converter.emit(node, f"aten.avg_pool{dims}d.default", args, Meta(shape, "float32"))
        converter.values[node.outputs[0]] = Function(Floats(name, shape))
        return
    levels = _sums(converter, node, of, sizes, strides, shape)
    converter.define(node.outputs[0], levels, Affine(affine.scale / count, affine.offset))


def _sums(
    converter: Converter,
    node: Node,
    of: Levels,
    sizes: Sequence[int],
    strides: Sequence[int],
    shape: tuple[int, ...],
) -> Levels:
    count = prod(sizes)
    low, high = of.low * count, of.high * count
    args = {
        "self": Ref(of.name),
        "kernel_size": list(sizes),
        "stride": list(strides),
        "padding": [0] * len(sizes),
        "dilation": [1] * len(sizes),
    }
    name = converter.emit(node, "levels.sum_pool", args, Meta(shape, type_of(low, high)))
    return Levels(name, shape, low, high)


def quant_average(converter: Converter, node: Node) -> None:
    """``QuantAvgPool2d``: a sum of integers, shifted to the right."""
    value = converter.settled(node, 0)
    of, affine, attributes = value.of, value.affine, node.attributes
    plain = affine is not None and np.all(affine.scale == 1) and not np.any(affine.offset)
    if isinstance(of, Floats) or not plain:
        raise node.refusal("of a tensor that is no integers", "a Quant of scale 1 gives integers.")
    if attributes.get("data_layout", "NCHW") != "NCHW":
        raise node.refusal("with channels last", 'data_layout="NCHW" is supported.')
    shape = converter.graph.shapes[node.outputs[0]]
    size, stride = int(attributes["kernel"]), int(attributes["stride"])
    sums = _sums(converter, node, of, [size] * 2, [stride] * 2, shape)
    largest = (2 ** int(attributes["ibits"]) - 1) * size * size
    shift = max(0, largest.bit_length() - int(attributes["obits"]))
    low, high = sums.low >> shift, sums.high >> shift
    name = sums.name
    if shift:
        args = {"input": Ref(name), "count": shift}
        name = converter.emit(node, "levels.shift", args, Meta(shape, type_of(low, high)))
    ones = np.ones((1,) * len(shape))
    converter.define(node.outputs[0], Levels(name, shape, low, high), Affine(ones, 0 * ones))
