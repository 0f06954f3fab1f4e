"""Nodes that stay in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.models.graph import Meta, Operator, Ref

from ..convert import Converter
from ..reading import Array, Node
from ..values import Floats, Function


def softmax(converter: Converter, node: Node) -> None:
    """Softmax over one dimension."""
    shape = converter.graph.shapes[node.outputs[0]]
    axis = int(node.attributes.get("axis", 1 if node.version < 13 else -1)) % len(shape)
    if node.version < 13 and axis != len(shape) - 1:
        raise node.refusal(
            f"over all dimensions from {axis} on", "operator set 13 has softmax over one dimension."
        )
    args = {"self": Ref(converter.as_floats(node.inputs[0], node)), "dim": axis, "dtype": None}
    name = converter.emit(node, "aten.softmax.int", args, Meta(shape, "float32"))
    converter.values[node.outputs[0]] = Function(Floats(name, shape))


def in_floats(op: Operator, values: dict[str, Any]) -> Array:
    """What the exact reference has no form of: products and means of floats, in the order of the kernels."""
    given = {name: values[value.name] for name, value in op.args.items() if isinstance(value, Ref)}
    if op.target == "aten.matmul.default":
        return _product(given["self"], given["other"])
    shape = op.metas[0].shape if op.metas[0] else ()
    if op.target.startswith("aten.avg_pool"):
        x = given["self"]
        total = np.zeros(shape, np.float32)
        for place in np.ndindex(*op.args["kernel_size"]):
            total = total + _window(x, place, op.args["stride"], [1] * len(place), shape)
        return np.asarray(total / np.float32(np.prod(op.args["kernel_size"])))
    return _convolution(op, given["input"], given["weight"], shape)


def _product(left: Array, right: Array) -> Array:
    total = np.zeros((*left.shape[:-1], right.shape[-1]), np.float32)
    for k in range(left.shape[-1]):  # one product behind the other
        total = total + left[..., k, None] * right[..., k, None, :].reshape(
            *right.shape[:-2], *[1] * (left.ndim - right.ndim), 1, right.shape[-1]
        )
    return total


def _convolution(op: Operator, image: Array, weight: Array, shape: tuple[int, ...]) -> Array:
    args, dims = op.args, weight.ndim - 2
    span = max(image.shape) + max(shape) * max(args["stride"]) + max(weight.shape) * 4
    padded = np.pad(image, [(0, 0), (0, 0), *((p, span) for p in args["padding"])])
    groups, outs = args["groups"], len(weight) // args["groups"]
    parts = []
    for g, part in enumerate(np.split(padded, groups, 1)):
        total = np.zeros((shape[0], outs, *shape[2:]), np.float32)
        for c in range(weight.shape[1]):
            for place in np.ndindex(*weight.shape[2:]):
                taken = _window(part[:, c], place, args["stride"], args["dilation"], shape)
                factors = weight[(slice(g * outs, (g + 1) * outs), c, *place)]
                total = total + taken[:, None] * factors.reshape(1, -1, *[1] * dims)
        parts.append(total)
    return np.concatenate(parts, 1)


def _window(x: Array, place: Any, strides: Any, dilations: Any, shape: tuple[int, ...]) -> Array:
    """The elements that one place of a window reads."""
    extents = shape[-len(place) :]
    taken: tuple[Any, ...] = tuple(
        slice(k * d, k * d + (n - 1) * s + 1, s)
        for k, d, n, s in zip(place, dilations, extents, strides, strict=True)
    )
    return np.asarray(x[(Ellipsis, *taken)])
