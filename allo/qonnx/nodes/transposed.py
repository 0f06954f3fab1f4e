"""Transposed convolutions of quantised images: each element is added to a window of the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.models.graph import Meta, Ref

from ..convert import Converter, real_of
from ..reading import Array, Node
from ..values import Affine, Constant, Floats, Function, Levels, type_of
from .convolutions import geometry
from .products import biased, made_type


def conv_transpose(converter: Converter, node: Node) -> None:
    """``ConvTranspose`` of one or two dimensions; groups, strides, dilations and padding."""
    value, weights = converter.settled(node, 0), converter.constant(node, 1)
    shape = converter.graph.shapes[node.outputs[0]]
    dims = len(shape) - 2
    if weights is None or dims not in (1, 2):
        raise node.refusal(f"over {dims} dimensions", "one and two dimensions are supported.")
    args = _geometry(node, len(weights.array.shape) - 2)
    if isinstance(value.of, Floats) or weights.integers is None or value.affine is None:
        given = {
            "input": Ref(converter.as_floats(node.inputs[0], node)),
            "weight": (weights.array.astype(np.float32), "float32"),
            "bias": None,
            **args,
        }
        target = "aten.conv_transpose2d.input" if dims == 2 else "aten.conv_transpose1d.default"
        name = converter.emit(node, target, given, Meta(shape, "float32"))
        converter.values[node.outputs[0]] = Function(Floats(name, shape))
    else:
        _of_levels(converter, node, value, weights, args)
    biased(converter, node, 2, 1)


def _geometry(node: Node, dims: int) -> dict[str, Any]:
    attributes = node.attributes
    if attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise node.refusal("with auto_pad", "pads and output_padding are supported.")
    if attributes.get("output_shape") and not attributes.get("pads"):
        raise node.refusal("with output_shape", "pads and output_padding are supported.")
    return geometry(node, [int(n) for n in attributes.get("pads", [0] * dims)[:dims]])


def _of_levels(
    converter: Converter, node: Node, value: Function, weights: Constant, args: dict[str, Any]
) -> None:
    integers, units = np.asarray(weights.integers), np.asarray(weights.unit)
    shape = converter.graph.shapes[node.outputs[0]]
    if units.shape[0] > 1 or any(extent > 1 for extent in units.shape[2:]):
        raise node.refusal(
            "by weights whose scale differs in one sum", "one scale for each output is supported."
        )
    of, unit, factor, shift = real_of(value, node, "an image")
    if unit.size > 1:
        raise node.refusal(
            "of an image whose scale differs in one sum", "one scale for all channels is supported."
        )
    low, high = sorted((factor * of.low + shift, factor * of.high + shift))
    ends = _bounds(integers, (low, high), args)
    given = {
        "input": Ref(of.name),
        "weight": (integers, type_of(int(integers.min()), int(integers.max()))),
        "bias": None,
        "zero_input": (factor, shift, made_type(low, high)),
        "sums": type_of(*ends),
        **args,
    }
    dims = len(shape) - 2
    name = converter.emit(node, f"levels.conv_transpose{dims}d", given, Meta(shape, type_of(*ends)))
    outs = shape[1] // args["groups"]
    each = np.broadcast_to(units.reshape(-1), (outs,)) * unit.reshape(-1)[0]
    scale = np.tile(each, args["groups"]).reshape(1, -1, *[1] * dims)
    converter.define(node.outputs[0], Levels(name, shape, *ends), Affine(scale, 0 * scale))


def _bounds(integers: Array, bounds: tuple[int, int], args: dict[str, Any]) -> tuple[int, int]:
    """The bounds of a sum: places of the kernel that are a stride apart meet in one element."""
    groups = args["groups"]
    split = integers.reshape(groups, -1, *integers.shape[1:]).astype(object)
    products = (split * bounds[0], split * bounds[1])
    least = np.minimum(*products).clip(max=0).sum(1)
    most = np.maximum(*products).clip(min=0).sum(1)
    low, high = 0, 0
    phases = args["stride"]
    for phase in np.ndindex(*phases):
        chosen = [
            [k for k in range(size) if k * dilation % stride == at]
            for size, dilation, stride, at in zip(
                integers.shape[2:], args["dilation"], phases, phase, strict=True
            )
        ]
        if all(chosen):
            at = np.ix_(*chosen)
            axes = tuple(range(2, 2 + len(chosen)))
            low = min(low, int(least[(..., *at)].sum(axes).min()))
            high = max(high, int(most[(..., *at)].sum(axes).max()))
    return low, high
