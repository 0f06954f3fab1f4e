"""Nodes that move elements: they act on levels as on what the levels stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from allo.models.graph import Meta, Ref

from .convert import Converter
from .functions import extents
from .reading import Array, Node
from .values import Affine, Floats, Function, Levels, compressed

RESHAPES = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})


def reshape(converter: Converter, node: Node) -> None:
    """The same elements in another shape."""
    shape = converter.graph.shapes[node.outputs[0]]
    _moved(converter, node, "aten.view.default", {"size": list(shape)}, lambda a: a.reshape(shape))


def transpose(converter: Converter, node: Node) -> None:
    """The dimensions in another order."""
    rank = len(converter.graph.shapes[node.inputs[0]])
    dims = list(node.attributes.get("perm", range(rank)[::-1]))
    _moved(converter, node, "aten.permute.default", {"dims": dims}, lambda a: a.transpose(dims))


def _moved(converter: Converter, node: Node, target: str, args: dict[str, Any], move: Any) -> None:
    value = converter.function(node, 0)
    shape = converter.graph.shapes[node.outputs[0]]
    of = value.of
    if not value.steps:
        name = converter.emit(node, target, {"self": Ref(of.name), **args}, Meta(shape, _dtype(of)))
        converter.values[node.outputs[0]] = _renamed(value, name, shape, move)
        return
    if not _uniform(value):
        raise node.refusal(
            "between functions of each channel and their quantiser",
            "move elements behind the quantiser, which gives the same.",
        )
    name = converter.emit(node, target, {"self": Ref(of.name), **args}, Meta(shape, _dtype(of)))
    moved = Levels(name, shape, of.low, of.high) if isinstance(of, Levels) else Floats(name, shape)
    rank = len(shape)
    steps = tuple(
        replace(step, others=tuple(None if a is None else _first(a) for a in step.others))
        for step in value.steps
    )
    start, affine = (
        None if a is None else Affine(_first(a.scale, rank), _first(a.offset, rank))
        for a in (value.start, value.affine)
    )
    converter.values[node.outputs[0]] = Function(moved, start, steps, affine, value.monotone)


def _first(array: Array, rank: int = 0) -> Array:
    """One number of an array of equal ones, of another rank."""
    return np.array(np.asarray(array).reshape(-1)[0]).reshape((1,) * rank)


def _uniform(value: Function) -> bool:
    simple = all(step.channel is None for step in value.steps)
    return simple and all(extent == 1 for extent in extents(value))


def _dtype(of: Levels | Floats) -> str:
    return of.dtype if isinstance(of, Levels) else "float32"


def _renamed(value: Function, name: str, shape: tuple[int, ...], move: Any) -> Function:
    of = value.of
    if isinstance(of, Floats) or value.start is None:
        return Function(Floats(name, shape))
    affine = Affine(*(_carried(a, of.shape, move) for a in (value.start.scale, value.start.offset)))
    return Function(Levels(name, shape, of.low, of.high), affine, (), affine)


def _carried(array: Array, shape: tuple[int, ...], move: Any) -> Array:
    """Parameters of a tensor, moved as its elements are."""
    return compressed(np.asarray(move(np.broadcast_to(array, shape))))
