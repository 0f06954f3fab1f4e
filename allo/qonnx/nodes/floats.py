"""Nodes that stay in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from allo import bitexact
from allo.models.graph import Meta, Operator, Ref

from ..convert import Converter
from ..reading import Array, Node
from ..values import Floats, Function

_ONE = np.float32(1.0)


def softmax(converter: Converter, node: Node) -> None:
    """``Softmax`` and ``LogSoftmax`` over one dimension."""
    shape = converter.graph.shapes[node.outputs[0]]
    axis = int(node.attributes.get("axis", 1 if node.version < 13 else -1)) % len(shape)
    if node.version < 13 and axis != len(shape) - 1:
        raise node.refusal(
            f"over all dimensions from {axis} on", "operator set 13 has softmax over one dimension."
        )
    args = {"self": Ref(converter.as_floats(node.inputs[0], node)), "dim": axis, "dtype": None}
    target = "aten.softmax.int" if node.op == "Softmax" else "aten.log_softmax.int"
    name = converter.emit(node, target, args, Meta(shape, "float32"))
    converter.values[node.outputs[0]] = Function(Floats(name, shape))


_UNARY: dict[str, Callable[[Array], Array]] = {
    "sigmoid": lambda x: _ONE / (_ONE + bitexact.exp(-x)),
    "tanh": bitexact.tanh,
    "exp": bitexact.exp,
    "log": bitexact.log,
    "erf": bitexact.erf,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "reciprocal": lambda x: _ONE / x,
}


def _gelu(op: Operator, x: Array) -> Array:
    half, root = np.float32(0.5), np.float32(0.7071067811865476)
    if op.args["approximate"] == "tanh":
        slope, cube = np.float32(0.7978845608028654), np.float32(0.044715)
        return np.asarray(half * x * (_ONE + bitexact.tanh(slope * (x + cube * x * x * x))))
    return np.asarray(half * x * (_ONE + bitexact.erf(x * root)))


def _power(op: Operator, x: Array) -> Array:
    simple: dict[float, Callable[[Array], Array]] = {
        1.0: lambda x: x,
        2.0: lambda x: x * x,
        3.0: lambda x: x * x * x,
        0.5: np.sqrt,
        -1.0: lambda x: _ONE / x,
    }
    return np.asarray(simple[op.args["exponent"]](x))


def _clamped(op: Operator, x: Array) -> Array:
    low, high = op.args["min"], op.args["max"]
    x = x if low is None else np.maximum(x, np.float32(low))
    return np.asarray(x if high is None else np.minimum(x, np.float32(high)))


def _reduced(op: Operator, x: Array) -> Array:
    """Over some dimensions, one element after the other."""
    dims = op.args["dim"]
    kept = [d for d in range(x.ndim) if d not in dims]
    rows = x.transpose(*kept, *dims).reshape(*(x.shape[d] for d in kept), -1)
    if op.kind == "amax":
        found = rows.max(-1)
    elif op.kind == "amin":
        found = rows.min(-1)
    else:
        start = np.zeros((*rows.shape[:-1], 1), x.dtype)
        found = np.add.accumulate(np.concatenate([start, rows], -1), axis=-1, dtype=x.dtype)[
            ..., -1
        ]
        if op.kind == "mean":
            found = found / np.float32(rows.shape[-1])
    shape = op.metas[0].shape if op.metas[0] else ()
    return np.asarray(found).reshape(shape)


def _place(op: Operator, x: Array) -> Array:
    """The first place of the greatest or least element."""
    find = np.argmax if op.kind == "argmax" else np.argmin
    shape = op.metas[0].shape if op.metas[0] else ()
    return np.asarray(find(x, op.args["dim"])).reshape(shape)


_OF_ONE: dict[str, Callable[[Operator, Array], Array]] = {
    "gelu": _gelu,
    "pow": _power,
    "clamp": _clamped,
    **dict.fromkeys(("sum", "mean", "amax", "amin"), _reduced),
    **dict.fromkeys(("argmax", "argmin"), _place),
}


def in_floats(op: Operator, values: dict[str, Any]) -> Array:
    """What the exact reference has no form of, in float32 and in the order of the kernels."""
    given = {name: values[value.name] for name, value in op.args.items() if isinstance(value, Ref)}
    if op.kind in _UNARY:
        return np.asarray(_UNARY[op.kind](given["self"].astype(np.float32)))
    if op.kind in _OF_ONE:
        return _OF_ONE[op.kind](op, given["self"])
    if op.kind in ("maximum", "minimum"):
        return np.asarray(getattr(np, op.kind)(given["self"], given["other"]))
    if op.target == "aten.matmul.default":
        return _product(given["self"], given["other"])
    shape = op.metas[0].shape if op.metas[0] else ()
    if op.target.startswith("aten.avg_pool"):
        x = given["self"]
        total = np.zeros(shape, np.float32)
        for place in np.ndindex(*op.args["kernel_size"]):
            total = total + _window(x, place, op.args["stride"], [1] * len(place), shape)
        return np.asarray(total / np.float32(np.prod(op.args["kernel_size"])))
    if op.target.startswith("aten.conv_transpose"):
        return _scattered(op, given["input"], given["weight"], shape)
    return _convolution(op, given["input"], given["weight"], shape)


def _scattered(op: Operator, image: Array, weight: Array, shape: tuple[int, ...]) -> Array:
    """Channel after channel, each place of the kernel is added where it lies."""
    args = op.args
    groups, ins = args["groups"], len(weight) // args["groups"]
    span = [
        (n - 1) * s + d * (k - 1) + 1 + p + r
        for n, s, d, k, p, r in zip(
            image.shape[2:],
            args["stride"],
            args["dilation"],
            weight.shape[2:],
            args["padding"],
            shape[2:],
            strict=True,
        )
    ]
    whole = np.zeros((*shape[:2], *span), np.float32)
    outs = weight.shape[1]
    for g in range(groups):
        for c in range(g * ins, (g + 1) * ins):
            for o in range(outs):
                for place in np.ndindex(*weight.shape[2:]):
                    window = tuple(
                        slice(k * d, k * d + (n - 1) * s + 1, s)
                        for k, d, n, s in zip(
                            place, args["dilation"], image.shape[2:], args["stride"], strict=True
                        )
                    )
                    whole[(slice(None), g * outs + o, *window)] += (
                        image[:, c] * weight[(c, o, *place)]
                    )
    cut = tuple(slice(p, p + r) for p, r in zip(args["padding"], shape[2:], strict=True))
    return whole[(slice(None), slice(None), *cut)]


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
