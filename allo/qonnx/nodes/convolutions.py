"""Convolutions of quantised images as integer sums, and the windows of images as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.models.graph import Meta, Ref

from ..convert import Converter, real_of
from ..reading import Array, Node
from ..values import Affine, Constant, Floats, Function, Levels, type_of
from .products import biased, made_type, sums, weight


def conv(converter: Converter, node: Node) -> None:
    """``Conv`` of one or two dimensions; groups, strides, dilations and padding with zeros."""
    value, weights = converter.settled(node, 0), converter.constant(node, 1)
    shape = converter.graph.shapes[node.outputs[0]]
    dims = len(shape) - 2
    if weights is None or dims not in (1, 2):
        raise node.refusal(f"over {dims} dimensions", "one and two dimensions are supported.")
    args = geometry(node, padding_of(converter, node, weights.array.shape[2:]))
    if isinstance(value.of, Floats) or weights.integers is None or value.affine is None:
        _in_floats(converter, node, weights, args, shape)
    else:
        _of_levels(converter, node, value, weights, args, shape)
    biased(converter, node, 2, 1)


_PADDINGS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def padding_of(converter: Converter, node: Node, sizes: Sequence[int]) -> list[int]:
    """What stands before an image in each dimension; what stands behind it follows from the result."""
    attributes, dims = node.attributes, len(sizes)
    kind = attributes.get("auto_pad", "NOTSET")
    if kind not in _PADDINGS:
        raise node.refusal(f"with auto_pad {kind!r}", f"ONNX defines {', '.join(_PADDINGS)}.")
    if not kind.startswith("SAME"):
        return [int(p) for p in attributes.get("pads", [0] * dims)[:dims]]
    image = converter.graph.shapes[node.inputs[0]][2:]
    strides, dilations = (attributes.get(k, [1] * dims) for k in ("strides", "dilations"))
    totals = [
        max(0, (-(-n // s) - 1) * s + d * (k - 1) + 1 - n)
        for n, s, d, k in zip(image, strides, dilations, sizes, strict=True)
    ]
    return [(total + (kind == "SAME_LOWER")) // 2 for total in totals]


def geometry(node: Node, padding: list[int]) -> dict[str, Any]:
    """The arguments of a convolution that say where its windows lie, with the padding of each dimension."""
    attributes, dims = node.attributes, len(padding)
    return {
        "stride": [int(n) for n in attributes.get("strides", [1] * dims)],
        "padding": padding,
        "dilation": [int(n) for n in attributes.get("dilations", [1] * dims)],
        "groups": int(attributes.get("group", 1)),
    }


def _of_levels(
    converter: Converter,
    node: Node,
    value: Function,
    weights: Constant,
    args: dict[str, Any],
    shape: tuple[int, ...],
) -> None:
    integers, units = np.asarray(weights.integers), np.asarray(weights.unit)
    if any(extent > 1 for extent in units.shape[1:]):
        raise node.refusal(
            "by weights whose scale differs in one sum", "one scale for each output is supported."
        )
    of, unit, factor, shift = real_of(value, node, "an image")
    scale = _of_channels(units.reshape(-1), unit, integers, args["groups"], node)
    low, high = sorted((factor * of.low + shift, factor * of.high + shift))
    bounds = (min(low, 0), max(high, 0))  # what is padded counts 0
    _, ends = sums(integers, bounds, tuple(range(1, integers.ndim)))
    signs = bool(np.all(np.abs(integers) == 1))
    args |= {
        "input": Ref(of.name),
        "weight": weight(integers),
        "zero_input": (factor, shift, made_type(low, high)),
        "sums": type_of(*ends),
        "signs": signs,
    }
    dims = len(shape) - 2
    name = converter.emit(node, f"levels.conv{dims}d", args, Meta(shape, type_of(*ends)))
    each = scale.reshape(1, -1, *[1] * dims)
    converter.define(node.outputs[0], Levels(name, shape, *ends), Affine(each, 0 * each))


def _of_channels(units: Array, unit: Array, integers: Array, groups: int, node: Node) -> Array:
    """The scale of each output channel."""
    outs = len(integers)
    if unit.size == 1:
        return np.broadcast_to(units * unit.reshape(-1)[0], (outs,)).copy()
    if integers.shape[1] > 1 or unit.size != unit.shape[1]:
        raise node.refusal(
            "of an image whose scale differs in one sum",
            "one scale for all channels is supported, or one for each where each is a group.",
        )
    return np.asarray(units * np.repeat(unit.reshape(-1), outs // groups))


def _in_floats(
    converter: Converter,
    node: Node,
    weights: Constant,
    args: dict[str, Any],
    shape: tuple[int, ...],
) -> None:
    given = {
        "input": Ref(converter.as_floats(node.inputs[0], node)),
        "weight": (weights.array.astype(np.float32), "float32"),
        "bias": None,
        **args,
    }
    dims = len(shape) - 2
    name = converter.emit(node, f"aten.conv{dims}d.default", given, Meta(shape, "float32"))
    converter.values[node.outputs[0]] = Function(Floats(name, shape))


def im2col(converter: Converter, node: Node) -> None:
    """``Im2Col``: the windows of an image whose channels stand last."""
    value = converter.settled(node, 0)
    shape = converter.graph.shapes[node.outputs[0]]
    of, affine = value.of, value.affine
    if isinstance(of, Floats) or affine is None or affine.scale.size > 1:
        raise node.refusal(
            "of an image that is not quantised, or by channels", "quantise it before."
        )
    attributes = node.attributes
    pads = [int(p) for p in attributes.get("pad_amount", [0] * 4)]
    level = padding_level(node, value, float(attributes.get("pad_value", 0))) if any(pads) else 0
    low, high = (min(of.low, level), max(of.high, level)) if any(pads) else (of.low, of.high)
    args = {
        "self": Ref(of.name),
        "kernel_size": [int(n) for n in attributes["kernel_size"]],
        "stride": [int(n) for n in attributes["stride"]],
        "dilation": [int(n) for n in attributes.get("dilations", [1, 1])],
        "padding": pads[:2],
        "value": level,
    }
    name = converter.emit(node, "levels.im2col", args, Meta(shape, type_of(low, high)))
    converter.define(node.outputs[0], Levels(name, shape, low, high), affine)


def padding_level(node: Node, value: Function, real: float) -> int:
    """The level that stands for a real value.

    Raises:
        UnsupportedOperatorError: none does.
    """
    affine = value.affine or value.start
    if affine is not None and affine.scale.size == affine.offset.size == 1:
        scale, offset = float(affine.scale.reshape(-1)[0]), float(affine.offset.reshape(-1)[0])
        level = round((real - offset) / scale)
        if level * scale + offset == real:
            return level
        raise node.refusal(
            f"with {real:g} around, for which there is no level: the nearest one is off by "
            f"{abs(level * scale + offset - real):g}",
            "quantise behind the padding, or with a zero point.",
        )
    raise node.refusal(
        "with a scale for each channel", "one scale for the whole image is supported."
    )
