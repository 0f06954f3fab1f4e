"""Operators that only move elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allo.models.graph import Meta, Ref

from ..building import Building
from ..network import Network, Node, TensorInfo
from .family import Conversion


def _moved(building: Building, node: Node, *tensors: TensorInfo) -> TensorInfo:
    """The result, where it has the scale of the operands."""
    result = building.network.result(node)
    building.check_integers(node, result, *tensors)
    for info in tensors:
        if (info.scale, info.zero) != (result.scale, result.zero):
            raise building.refusal(
                node, f"moves {info.name!r} to another scale", "put a QUANTIZE before it."
            )
    return result


def numbers(network: Network, node: Node, number: int) -> list[int] | None:
    """An operand that is a constant of integers; None where it is none."""
    info = network.optional(node, number)
    if info is None or info.data is None:
        return None
    return [int(each) for each in info.data.reshape(-1)]


def constant(building: Building, node: Node, number: int) -> list[int]:
    """An operand that has to be a constant of integers."""
    found = numbers(building.network, node, number)
    if found is None:
        raise building.refusal(
            node,
            "takes a shape or place that is known only when it runs",
            "constants are supported.",
        )
    return found


def _reshape(building: Building, node: Node) -> None:
    source, result = building.network.operand(node, 0), building.network.result(node)
    args = {"self": building.value(source), "size": list(result.shape)}
    building.add(node, "aten.view.default", args, result)


def _concatenate(building: Building, node: Node) -> None:
    network = building.network
    parts = [network.operand(node, k) for k in range(len(node.inputs))]
    result = _moved(building, node, *parts)
    if node.options.FusedActivationFunction():
        raise building.refusal(node, "has a fused activation", "put a RELU behind it.")
    dim = node.options.Axis() % len(result.shape)
    args = {"tensors": [building.value(part) for part in parts], "dim": dim}
    building.add(node, "aten.cat.default", args, result)


def _pad(building: Building, node: Node) -> None:
    network = building.network
    source = network.operand(node, 0)
    result = _moved(building, node, source)
    pads = constant(building, node, 1)
    values = numbers(network, node, 2)
    pairs = [pads[2 * d : 2 * d + 2] for d in range(len(source.shape))]
    args = {
        "self": building.value(source),
        "pad": [n for pair in reversed(pairs) for n in pair],
        "value": values[0] if values else result.zero,
    }
    building.add(node, "aten.constant_pad_nd.default", args, result)


def _transpose(building: Building, node: Node) -> None:
    source = building.network.operand(node, 0)
    result = _moved(building, node, source)
    args = {"self": building.value(source), "dims": constant(building, node, 1)}
    building.add(node, "aten.permute.default", args, result)


@dataclass(frozen=True, slots=True)
class Part:
    """What a slice takes of a dimension: ``count`` elements from ``start`` on."""

    start: int
    count: int
    step: int = 1


def slice_parts(network: Network, node: Node) -> list[Part] | None:
    """What a SLICE takes; None where constants are missing."""
    source = network.operand(node, 0)
    begin, size = numbers(network, node, 1), numbers(network, node, 2)
    if begin is None or size is None:
        return None
    return [
        Part(b, n - b if s == -1 else s) for b, s, n in zip(begin, size, source.shape, strict=True)
    ]


def strided_parts(network: Network, node: Node) -> list[Part] | None:
    """What a STRIDED_SLICE takes; None where constants are missing, or a form is not known."""
    source, options = network.operand(node, 0), node.options
    begin, end, strides = (numbers(network, node, k) for k in (1, 2, 3))
    if begin is None or end is None or strides is None or min(strides) < 1:
        return None
    if options.EllipsisMask() or options.NewAxisMask():
        return None
    parts = []
    for d, extent in enumerate(source.shape):
        if d >= len(begin):
            parts.append(Part(0, extent))
            continue
        first = 0 if options.BeginMask() >> d & 1 else _inside(begin[d], extent)
        if options.ShrinkAxisMask() >> d & 1:
            parts.append(Part(begin[d] % extent, 1))
            continue
        last = extent if options.EndMask() >> d & 1 else _inside(end[d], extent)
        parts.append(Part(first, max(0, -(-(last - first) // strides[d])), strides[d]))
    return parts


def _inside(place: int, extent: int) -> int:
    return min(max(place + extent if place < 0 else place, 0), extent)


def _take(building: Building, node: Node, parts: Sequence[Part], result: TensorInfo) -> None:
    """A view of some elements of each dimension."""
    source = building.network.operand(node, len(node.inputs) - 1 if node.kind == "SPLIT" else 0)
    value, shape = building.value(source), list(source.shape)
    for d, part in enumerate(parts):
        if part == Part(0, shape[d]):
            continue
        shape[d] = part.count
        args = {"self": value, "dim": d, "start": part.start, "step": part.step}
        value = _step(building, node, f"{result.index}_{d}", args, shape, source.dtype)
    building.add(node, "aten.view.default", {"self": value, "size": list(result.shape)}, result)


def _step(
    building: Building, node: Node, mark: str, args: dict[str, object], shape: list[int], dtype: str
) -> Ref:
    name = f"{node.path}_part{mark}"
    return building.step(node, name, "aten.slice.Tensor", args, Meta(tuple(shape), dtype))


def _sliced(building: Building, node: Node) -> None:
    network = building.network
    result = _moved(building, node, network.operand(node, 0))
    parts = (slice_parts if node.kind == "SLICE" else strided_parts)(network, node)
    if parts is None:
        raise building.refusal(
            node,
            "takes places that are no constants, goes backwards, or has an ellipsis or a new axis",
            "begin, end and positive strides for each dimension, and masks for begin, end and shrink.",
        )
    _take(building, node, parts, result)


def _split(building: Building, node: Node) -> None:
    network = building.network
    axis, source = constant(building, node, 0)[0], network.operand(node, 1)
    _moved(building, node, source)
    start = 0
    for number in range(len(node.outputs)):
        result = network.result(node, number)
        dim = axis % len(source.shape)
        parts = [Part(0, n) for n in source.shape]
        parts[dim] = Part(start, result.shape[dim])
        start += result.shape[dim]
        _take(building, node, parts, result)


def nearest_places(node: Node, before: int, after: int) -> list[int]:
    """The row or column that each one of a RESIZE_NEAREST_NEIGHBOR is."""
    corners, halves = node.options.AlignCorners(), node.options.HalfPixelCenters()
    single = np.float32
    aligned = corners and after > 1
    scale = single(before - 1) / single(after - 1) if aligned else single(before) / single(after)
    places = []
    for k in range(after):
        at = single(k + (0.5 if halves else 0.0)) * scale
        place = int(np.floor(at + single(0.5))) if corners else int(np.floor(at))
        places.append(max(min(place, before - 1), 0))
    return places


def _nearest(building: Building, node: Node) -> None:
    source = building.network.operand(node, 0)
    result = _moved(building, node, source)
    args: dict[str, object] = {"self": building.value(source)}
    for word, d in (("rows", 1), ("columns", 2)):
        places = nearest_places(node, source.shape[d], result.shape[d])
        factor = result.shape[d] // source.shape[d]
        if places == [k // max(factor, 1) for k in range(result.shape[d])]:
            args[word] = factor
        else:
            args[word] = building.constant(node, word, np.array(places, np.int32))
    building.add(node, "tflite.resize_nearest", args, result)


CONVERSIONS: dict[str, Conversion] = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _reshape),
    "CONCATENATION": _concatenate,
    "PAD": _pad,
    "PADV2": _pad,
    "TRANSPOSE": _transpose,
    "SLICE": _sliced,
    "STRIDED_SLICE": _sliced,
    "SPLIT": _split,
    "RESIZE_NEAREST_NEIGHBOR": _nearest,
}
