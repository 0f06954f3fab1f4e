"""Sums, means and greatest elements over dimensions, and layer norms."""

from __future__ import annotations

from math import prod

import numpy as np

from allo.models.graph import Meta, Ref

from ..convert import Converter
from ..reading import Node
from ..values import Affine, Floats, Function, Levels, type_of

_FLOATS = {
    "ReduceSum": "aten.sum.dim_IntList",
    "ReduceMean": "aten.mean.dim",
    "ReduceMax": "aten.amax.default",
    "ReduceMin": "aten.amin.default",
}
REDUCTIONS = frozenset(_FLOATS)


def reduction(converter: Converter, node: Node) -> None:
    """A sum or mean of levels is a sum of integers; of floats, it stays in float32."""
    value = converter.settled(node, 0)
    of, affine = value.of, value.affine
    shape = converter.graph.shapes[node.outputs[0]]
    dims = _dims(converter, node, len(value.shape))
    if not dims:
        converter.values[node.outputs[0]] = value
        return
    args = {"dim": dims, "keepdim": bool(node.attributes.get("keepdims", 1))}
    whole = isinstance(of, Levels) and affine is not None
    if (
        not whole
        or affine is None
        or isinstance(of, Floats)
        or max(affine.scale.size, affine.offset.size) > 1
    ):
        given = {"self": Ref(converter.as_floats(node.inputs[0], node)), **args}
        name = converter.emit(node, _FLOATS[node.op], given, Meta(shape, "float32"))
        converter.values[node.outputs[0]] = Function(Floats(name, shape))
        return
    ones = np.ones((1,) * len(shape))
    scale, offset = (float(a.reshape(-1)[0]) for a in (affine.scale, affine.offset))
    if node.op in ("ReduceMax", "ReduceMin"):
        greatest = (node.op == "ReduceMax") == (scale > 0)
        target = "aten.amax.default" if greatest else "aten.amin.default"
        low, high, count = of.low, of.high, 1
    else:
        target, count = "levels.sum", prod(value.shape[d] for d in dims)
        low, high = of.low * count, of.high * count
    name = converter.emit(
        node, target, {"self": Ref(of.name), **args}, Meta(shape, type_of(low, high))
    )
    share = count if node.op == "ReduceMean" else 1
    total = count if node.op == "ReduceSum" else 1
    levels = Levels(name, shape, low, high)
    converter.define(node.outputs[0], levels, Affine(scale / share * ones, offset * total * ones))


def _dims(converter: Converter, node: Node, rank: int) -> list[int]:
    given = converter.constant(node, 1)
    axes = node.attributes.get("axes") if given is None else given.array.reshape(-1).tolist()
    if not axes:
        return [] if node.attributes.get("noop_with_empty_axes") else list(range(rank))
    return sorted({int(axis) % rank for axis in axes})


def place_of_extreme(converter: Converter, node: Node) -> None:
    """``ArgMax`` and ``ArgMin``: the first place of the greatest or least element along a dimension."""
    value = converter.function(node, 0)
    of, affine = value.of, value.affine
    shape = converter.graph.shapes[node.outputs[0]]
    axis = int(node.attributes.get("axis", 0)) % len(value.shape)
    if node.attributes.get("select_last_index"):
        raise node.refusal("of the last of equal elements", "select_last_index=0 is supported.")
    greatest = node.op == "ArgMax"
    plain = affine is not None and not value.steps and affine.scale.size == affine.offset.size == 1
    if plain and affine is not None and isinstance(of, Levels):
        name = of.name
        greatest = greatest == bool(affine.scale.reshape(-1)[0] > 0)
    else:
        name = converter.as_floats(node.inputs[0], node)
    args = {
        "self": Ref(name),
        "dim": axis,
        "keepdim": bool(node.attributes.get("keepdims", 1)),
    }
    most = value.shape[axis] - 1
    target = f"aten.{'argmax' if greatest else 'argmin'}.default"
    made = converter.emit(node, target, args, Meta(shape, type_of(0, most)))
    ones = np.ones((1,) * len(shape))
    converter.define(node.outputs[0], Levels(made, shape, 0, most), Affine(ones, 0 * ones))


def layer_norm(converter: Converter, node: Node) -> None:
    """``LayerNormalization`` over the last dimensions, in float32."""
    if len([name for name in node.outputs if name]) > 1:
        raise node.refusal(
            "with its mean or deviation", "the normalised tensor alone is supported."
        )
    shape = converter.graph.shapes[node.inputs[0]]
    axis = int(node.attributes.get("axis", -1)) % len(shape)
    inner = shape[axis:]
    factor, addend = (converter.constant(node, k) for k in (1, 2))
    args = {
        "input": Ref(converter.as_floats(node.inputs[0], node)),
        "normalized_shape": list(inner),
        "eps": float(node.attributes.get("epsilon", 1e-5)),
    }
    for key, found in (("weight", factor), ("bias", addend)):
        if found is None:
            args[key] = None
        else:
            args[key] = (np.broadcast_to(found.array, inner).astype(np.float32), "float32")
    name = converter.emit(node, "aten.layer_norm.default", args, Meta(shape, "float32"))
    converter.values[node.outputs[0]] = Function(Floats(name, shape))
