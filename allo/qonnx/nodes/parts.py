"""Parts of tensors: ``Slice``, ``Split``, ``Gather`` by constants, and elements repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from allo.models.graph import Ref

from ..convert import Converter
from ..reading import Array, Node
from .moves import moved


def slices(converter: Converter, node: Node) -> None:
    """``Slice`` along some dimensions, forwards or backwards."""
    shape = converter.graph.shapes[node.inputs[0]]
    starts, ends, axes, steps = (_numbers(converter, node, k) for k in (1, 2, 3, 4))
    starts, ends, axes = (
        given if given is not None else node.attributes.get(key)
        for given, key in ((starts, "starts"), (ends, "ends"), (axes, "axes"))
    )
    if starts is None or ends is None:
        raise node.refusal("without starts or ends", "both are constants.")
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(axes) if steps is None else steps
    places = {
        axis % len(shape): list(range(shape[axis]))[slice(start, _end(end, step), step)]
        for axis, start, end, step in zip(axes, starts, ends, steps, strict=True)
    }
    _taken(converter, node, places)


def _end(end: int, step: int) -> int | None:
    """Where a slice ends: the least number means before the first element, going backwards."""
    return None if step < 0 and end < -(1 << 31) + 2 else end


def split(converter: Converter, node: Node) -> None:
    """``Split`` into parts along one dimension."""
    shape = converter.graph.shapes[node.inputs[0]]
    axis = int(node.attributes.get("axis", 0)) % len(shape)
    start = 0
    for output in node.outputs:
        count = converter.graph.shapes[output][axis]
        one = replace(node, outputs=(output,))
        _taken(converter, one, {axis: list(range(start, start + count))})
        start += count


def gather(converter: Converter, node: Node) -> None:
    """``Gather`` of places that are constants."""
    shape = converter.graph.shapes[node.inputs[0]]
    axis = int(node.attributes.get("axis", 0)) % len(shape)
    indices = converter.constant(node, 1)
    if indices is None:
        raise node.refusal("without indices", "they are constants.")
    array = np.asarray(indices.array, np.int64) % shape[axis]
    final = converter.graph.shapes[node.outputs[0]]
    if array.ndim == 1:
        _taken(converter, node, {axis: array.reshape(-1).tolist()})
        return
    between = f"{node.outputs[0]}.flat"
    converter.graph.shapes[between] = (*shape[:axis], array.size, *shape[axis + 1 :])
    _taken(converter, replace(node, outputs=(between,)), {axis: array.reshape(-1).tolist()})
    last = replace(node, inputs=(between,))
    moved(converter, last, "aten.view.default", {"size": list(final)}, lambda a: a.reshape(final))


def expand(converter: Converter, node: Node) -> None:
    """``Expand``: dimensions of one element made longer."""
    shape = converter.graph.shapes[node.outputs[0]]
    moved(
        converter,
        node,
        "aten.expand.default",
        {"size": list(shape)},
        lambda a: np.array(np.broadcast_to(a, shape)),
    )


def tile(converter: Converter, node: Node) -> None:
    """``Tile``: a tensor beside itself."""
    repeats = _numbers(converter, node, 1) or []
    moved(
        converter, node, "aten.repeat.default", {"repeats": repeats}, lambda a: np.tile(a, repeats)
    )


def _numbers(converter: Converter, node: Node, place: int) -> list[int] | None:
    found = converter.constant(node, place)
    return None if found is None else [int(n) for n in found.array.reshape(-1)]


def _taken(converter: Converter, node: Node, places: Mapping[int, Sequence[int]]) -> None:
    """The elements at some places of each dimension that is named."""
    shape = list(converter.graph.shapes[node.inputs[0]])
    chosen = [
        (axis, list(at)) for axis, at in places.items() if list(at) != list(range(shape[axis]))
    ]
    if not chosen:
        whole = tuple(shape)
        moved(converter, node, "aten.view.default", {"size": shape}, lambda a: a.reshape(whole))
        return
    name = node.inputs[0]
    for number, (axis, at) in enumerate(chosen):
        shape[axis] = len(at)
        into = node.outputs[0] if number == len(chosen) - 1 else f"{node.outputs[0]}.{axis}"
        converter.graph.shapes[into] = tuple(shape)
        one = replace(node, inputs=(name,), outputs=(into,))
        target, args = _form(converter, axis, at)
        moved(converter, one, target, args, lambda a, at=at, axis=axis: np.take(a, at, axis))
        name = into


def _form(converter: Converter, axis: int, at: Sequence[int]) -> tuple[str, dict[str, Any]]:
    step = at[1] - at[0] if len(at) > 1 else 1
    if step > 0 and list(at) == list(range(at[0], at[-1] + 1, step)):
        args = {"dim": axis, "start": at[0], "end": at[-1] + 1, "step": step}
        return "aten.slice.Tensor", args
    index: Array = np.asarray(at, np.int64)
    name = converter.fresh("places")
    converter.made.constants[name] = index
    return "aten.index_select.default", {"dim": axis, "index": Ref(name)}
