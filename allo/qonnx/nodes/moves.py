"""Nodes that move elements: they act on levels as on what the levels stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from allo.models.graph import Meta, Ref

from ..convert import Converter
from ..functions import extents
from ..reading import Array, Node
from ..running import run_node
from ..values import Affine, Floats, Function, Levels, compressed

Move = Callable[[Array], Array]

RESHAPES = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})


def reshape(converter: Converter, node: Node) -> None:
    """The same elements in another shape."""
    shape = converter.graph.shapes[node.outputs[0]]
    moved(converter, node, "aten.view.default", {"size": list(shape)}, lambda a: a.reshape(shape))


def transpose(converter: Converter, node: Node) -> None:
    """The dimensions in another order."""
    rank = len(converter.graph.shapes[node.inputs[0]])
    dims = list(node.attributes.get("perm", range(rank)[::-1]))
    moved(converter, node, "aten.permute.default", {"dims": dims}, lambda a: a.transpose(dims))


def depth_to_space(converter: Converter, node: Node) -> None:
    """Channels as the pixels of blocks."""
    batch, channels, height, width = converter.graph.shapes[node.inputs[0]]
    size = int(node.attributes["blocksize"])
    kept = channels // size**2
    crd = node.attributes.get("mode", "DCR") == "CRD"
    blocks = (kept, size, size) if crd else (size, size, kept)
    split = (batch, *blocks, height, width)
    dims = [0, 1, 4, 2, 5, 3] if crd else [0, 3, 4, 1, 5, 2]
    between = tuple(split[d] for d in dims)
    names = [node.inputs[0], *(f"{node.outputs[0]}.{k}" for k in range(2)), node.outputs[0]]
    converter.graph.shapes |= {names[1]: split, names[2]: between}
    steps = [replace(node, inputs=(names[k],), outputs=(names[k + 1],)) for k in range(3)]
    moved(
        converter, steps[0], "aten.view.default", {"size": list(split)}, lambda a: a.reshape(split)
    )
    moved(converter, steps[1], "aten.permute.default", {"dims": dims}, lambda a: a.transpose(dims))
    reshape(converter, steps[2])


def resize(converter: Converter, node: Node) -> None:
    """Each pixel repeated: ``Resize`` and ``Upsample`` to the nearest one, by whole factors."""
    before, after = (converter.graph.shapes[name] for name in (node.inputs[0], node.outputs[0]))
    factors = [b // a for a, b in zip(before, after, strict=True)]
    rest = [converter.constant(node, k) for k in range(1, len(node.inputs))]
    pixels = np.arange(np.prod(before[2:]), dtype=np.float32).reshape(1, 1, *before[2:])
    wanted = pixels
    for axis, factor in enumerate(factors):
        wanted = np.repeat(wanted, factor, axis)
    shrunk = [None if c is None else c.array for c in rest]
    if len(shrunk) > 2 and shrunk[2] is not None:  # sizes in place of scales
        shrunk[2] = np.array([1, 1, *after[2:]], np.int64)
    whole = len(before) == 4 and factors[:2] == [1, 1] and node.attributes.get("mode") == "nearest"
    if not whole or not np.array_equal(run_node(node, [pixels, *shrunk]), wanted):
        raise node.refusal(
            "that is no repetition of pixels", "mode=nearest by whole factors is supported."
        )

    def move(array: Array) -> Array:
        for axis, factor in enumerate(factors):
            array = np.repeat(array, factor, axis)
        return array

    args = {"output_size": list(after[2:]), "scale_factors": None}
    moved(converter, node, "aten.upsample_nearest2d.vec", args, move)


def moved(converter: Converter, node: Node, target: str, args: dict[str, Any], move: Move) -> None:
    """A node that moves elements, as an operator.

    Args:
        converter: the state.
        node: the node, of one result.
        target: the operator; its tensor is the argument ``self``.
        args: its other arguments.
        move: does the same to an array.

    Raises:
        UnsupportedOperatorError: a function whose parameters cannot move along.
    """
    value = converter.function(node, 0)
    shape = converter.graph.shapes[node.outputs[0]]
    of = value.of
    plain = not value.steps or _uniform(value)
    if not plain:
        found = converter.quantised_before(node)
        if found is not None:
            moved(converter, found, target, args, move)
            return
        if not _can_follow(value, move):
            raise node.refusal(
                "between functions of each channel and their quantiser",
                "move elements behind the quantiser, which gives the same.",
            )
    name = converter.emit(node, target, {"self": Ref(of.name), **args}, Meta(shape, _dtype(of)))
    if not value.steps:
        converter.values[node.outputs[0]] = _renamed(value, name, shape, move)
        return
    into = Levels(name, shape, of.low, of.high) if isinstance(of, Levels) else Floats(name, shape)
    converter.values[node.outputs[0]] = _following(value, into, None if plain else move)


def _following(value: Function, into: Levels | Floats, move: Move | None) -> Function:
    """The function of a tensor whose elements were moved; without ``move`` all parameters are one number."""
    rank, shape = len(into.shape), value.shape

    def parameter(array: Array) -> Array:
        return _first(array) if move is None or array.size == 1 else _carried(array, shape, move)

    def affine(found: Affine | None) -> Affine | None:
        if found is None:
            return None
        pair = (found.scale, found.offset)
        if move is None:
            return Affine(*(_first(a, rank) for a in pair))
        return Affine(*(_carried(a, shape, move) for a in pair))

    steps = tuple(
        replace(
            step,
            rank=rank,
            others=tuple(
                _following(a, into, move)
                if isinstance(a, Function)
                else (None if a is None else parameter(a))
                for a in step.others
            ),
        )
        for step in value.steps
    )
    return Function(into, affine(value.start), steps, affine(value.affine), value.monotone)


def _can_follow(value: Function, move: Move) -> bool:
    """Whether parameters have the tensor's shape, and are the same for all of the batch when moved."""
    for step in value.steps:
        for other in step.others:
            if isinstance(other, Function):
                if not _can_follow(other, move):
                    return False
            elif other is not None and (
                step.channel is not None or _carried(other, value.shape, move).shape[0] > 1
            ):
                return False
    return True


def _first(array: Array, rank: int = 0) -> Array:
    """One number of an array of equal ones, of another rank."""
    return np.array(np.asarray(array).reshape(-1)[0]).reshape((1,) * rank)


def _uniform(value: Function) -> bool:
    simple = all(step.channel is None for step in value.steps)
    return simple and all(extent == 1 for extent in extents(value))


def _dtype(of: Levels | Floats) -> str:
    return of.dtype if isinstance(of, Levels) else "float32"


def _renamed(value: Function, name: str, shape: tuple[int, ...], move: Move) -> Function:
    of = value.of
    if isinstance(of, Floats) or value.start is None:
        return Function(Floats(name, shape))
    affine = Affine(*(_carried(a, of.shape, move) for a in (value.start.scale, value.start.offset)))
    return Function(Levels(name, shape, of.low, of.high), affine, (), affine)


def _carried(array: Array, shape: tuple[int, ...], move: Move) -> Array:
    """Parameters of a tensor, moved as its elements are."""
    return compressed(np.asarray(move(np.broadcast_to(array, shape))))
