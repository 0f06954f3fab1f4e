"""Products of quantised tensors as integer sums, in exactly the bits that they need."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.models.graph import Meta, Ref

from ..convert import Converter, real_of
from ..reading import Array, Node
from ..values import Affine, Constant, Floats, Function, Levels, aligned, type_of


def matmul(converter: Converter, node: Node) -> None:
    """``MatMul``: of a tensor and constants, or of two tensors."""
    if isinstance(converter.values[node.inputs[0]], Constant):
        raise node.refusal(
            "of constants and a tensor",
            "the tensor stands on the left: transpose both, and the result.",
        )
    left, right = converter.settled(node, 0), converter.values[node.inputs[1]]
    if isinstance(right, Constant):
        _by_constants(converter, node, left, right)
    else:
        _of_tensors(converter, node, left, converter.settled(node, 1))


def gemm(converter: Converter, node: Node) -> None:
    """``Gemm``: a product and a bias."""
    left, weights = converter.settled(node, 0), converter.constant(node, 1)
    alpha, beta = (float(node.attributes.get(key, 1.0)) for key in ("alpha", "beta"))
    if node.attributes.get("transA") or alpha != 1 or beta != 1 or weights is None:
        raise node.refusal(
            "with transA, alpha or beta",
            "transA=0, alpha=1 and beta=1 are supported: scale the weights.",
        )
    if node.attributes.get("transB"):
        integers, unit = weights.integers, weights.unit
        weights = Constant(
            weights.array.T,
            None if integers is None else integers.T,
            None if unit is None else unit.T,
        )
    _by_constants(converter, node, left, weights)
    biased(converter, node, 2, 1)


def biased(converter: Converter, node: Node, place: int, axis: int) -> None:
    """Add the bias of a product, where it has one; the result stays affine in the sum."""
    bias = converter.constant(node, place)
    if bias is None:
        return
    value = converter.values[node.outputs[0]]
    shape = [1] * len(converter.graph.shapes[node.outputs[0]])
    shape[axis] = -1
    array = bias.array.reshape(shape) if bias.array.ndim == 1 else bias.array
    if isinstance(value, Function) and value.start and isinstance(value.of, Levels):
        offset = value.start.offset + aligned(array, len(shape))
        scale = np.broadcast_to(
            value.start.scale, np.broadcast_shapes(value.start.scale.shape, offset.shape)
        )
        converter.define(node.outputs[0], value.of, Affine(np.array(scale), offset))
        return
    name = converter.as_floats(node.outputs[0], node)
    other = converter.fresh("bias")
    converter.made.constants[other] = array.astype(np.float32)
    meta = Meta(converter.graph.shapes[node.outputs[0]], "float32")
    args = {"self": Ref(name), "other": Ref(other), "alpha": 1}
    made = converter.emit(node, "aten.add.Tensor", args, meta)
    converter.floats.pop(node.outputs[0])
    converter.values[node.outputs[0]] = Function(Floats(made, meta.shape))


def xnor(converter: Converter, node: Node) -> None:
    """``XnorPopcountMatMul``: how many bits agree."""
    left, right = converter.function(node, 0), converter.constant(node, 1)
    of = left.of
    if not isinstance(of, Levels) or left.steps or (of.low, of.high) != (0, 1) or right is None:
        raise node.refusal(
            "of operands that are not bits", "BipolarQuant or a Quant of one bit gives them."
        )
    signs = right.array.astype(np.int64) * 2 - 1
    shape = converter.graph.shapes[node.outputs[0]]
    name, depth = _agreeing(converter, node, of, signs, shape)
    unit = np.ones((1,) * len(shape))
    converter.define(node.outputs[0], Levels(name, shape, 0, depth), Affine(unit, 0 * unit))


def _by_constants(converter: Converter, node: Node, left: Function, weights: Constant) -> None:
    if weights.array.ndim < 2 or left.shape[-1] != weights.array.shape[-2]:
        raise node.refusal(
            f"of shapes {list(left.shape)} and {list(weights.array.shape)}, which do not fit",
            "the last extent of the tensor is the last but one of the weights.",
        )
    shape = converter.graph.shapes[node.outputs[0]]
    if isinstance(left.of, Floats) or weights.integers is None or not left.affine:
        _in_floats(converter, node, weights, shape)
        return
    if weights.unit is not None and weights.unit.shape[-2] > 1:
        raise node.refusal(
            "by weights whose scale differs along the sum",
            "one scale for each output is supported.",
        )
    of, unit, factor, shift = real_of(left, node, "a tensor")
    if unit.shape[-1] > 1:
        raise node.refusal(
            "of a tensor whose scale differs along the sum",
            "one scale for the whole tensor, or one for each row, is supported.",
        )
    integers = weights.integers
    scale = unit * aligned(np.asarray(weights.unit), len(shape))
    low, high = (factor * bound + shift for bound in (of.low, of.high))
    signs = bool(np.all(np.abs(integers) == 1))
    if signs and (of.low, of.high, factor, shift) == (0, 1, 2, -1) and integers.ndim == 2:
        name, depth = _agreeing(converter, node, of, integers, shape)
        affine = Affine(2 * scale, -depth * scale)
        converter.define(node.outputs[0], Levels(name, shape, 0, depth), affine)
        return
    made, ends = sums(integers, (low, high), -2)
    args: dict[str, Any] = {
        "self": Ref(of.name),
        "other": weight(integers),
        "zero_left": (factor, shift, made_type(low, high)),
        "sums": type_of(*ends),
    }
    if signs:
        args["zero_right"] = (2, -1, "int2")
    name = converter.emit(node, "levels.matmul", args, Meta(shape, type_of(*ends)))
    converter.define(node.outputs[0], Levels(name, shape, *ends), Affine(scale, 0 * scale))


def made_type(low: int, high: int) -> str:
    """The type of a decoded operand."""
    return type_of(min(low, high), max(low, high))


def weight(integers: Array) -> tuple[Array, str]:
    """Weights as they are held: signs as bits."""
    if np.all(np.abs(integers) == 1):
        return (integers + 1) // 2, "uint1"
    return integers, type_of(int(integers.min()), int(integers.max()))


def sums(
    integers: Array, bounds: tuple[int, int], axis: int | tuple[int, ...]
) -> tuple[Array, tuple[int, int]]:
    """The integers, and the bounds of a sum of their products with elements within ``bounds``."""
    first, second = integers * bounds[0], integers * bounds[1]
    high = int(np.maximum(first, second).sum(axis).max())
    low = int(np.minimum(first, second).sum(axis).min())
    return integers, (low, high)


def _agreeing(
    converter: Converter, node: Node, of: Levels, signs: Array, shape: tuple[int, ...]
) -> tuple[str, int]:
    """A product of signs: how many agree."""
    depth = signs.shape[-2]
    dtype = type_of(0, depth)
    args = {
        "self": Ref(of.name),
        "other": ((signs + 1) // 2, "uint1"),
        "agreeing": True,
        "sums": dtype,
    }
    return converter.emit(node, "levels.matmul", args, Meta(shape, dtype)), depth


def _of_tensors(converter: Converter, node: Node, left: Function, right: Function) -> None:
    shape = converter.graph.shapes[node.outputs[0]]
    if (
        isinstance(left.of, Floats)
        or isinstance(right.of, Floats)
        or not (left.affine and right.affine)
    ):
        floats: dict[str, Any] = {
            key: Ref(converter.as_floats(name, node))
            for key, name in zip(("self", "other"), node.inputs, strict=True)
        }
        name = converter.emit(node, "aten.matmul.default", floats, Meta(shape, "float32"))
        converter.values[node.outputs[0]] = Function(Floats(name, shape))
        return
    first, second = real_of(left, node, "a tensor"), real_of(right, node, "a tensor")
    if first[1].size > 1 or second[1].size > 1:
        raise node.refusal(
            "of tensors with a scale for each channel", "one scale for each is supported."
        )
    decoded = []
    for of, _, factor, shift in (first, second):
        decoded.append(sorted((factor * of.low + shift, factor * of.high + shift)))
    depth = first[0].shape[-1]
    corners = [a * b for a in decoded[0] for b in decoded[1]]
    ends = (depth * min(corners), depth * max(corners))
    args: dict[str, Any] = {
        "self": Ref(first[0].name),
        "other": Ref(second[0].name),
        "zero_left": (*first[2:], type_of(*decoded[0])),
        "zero_right": (*second[2:], type_of(*decoded[1])),
        "sums": type_of(*ends),
    }
    name = converter.emit(node, "levels.matmul", args, Meta(shape, type_of(*ends)))
    unit = np.asarray(first[1].reshape(-1)[0] * second[1].reshape(-1)[0]).reshape((1,) * len(shape))
    converter.define(node.outputs[0], Levels(name, shape, *ends), Affine(unit, 0 * unit))


def _in_floats(converter: Converter, node: Node, weights: Constant, shape: tuple[int, ...]) -> None:
    args: dict[str, Any] = {
        "self": Ref(converter.as_floats(node.inputs[0], node)),
        "other": (weights.array.astype(np.float32), "float32"),
    }
    name = converter.emit(node, "aten.matmul.default", args, Meta(shape, "float32"))
    converter.values[node.outputs[0]] = Function(Floats(name, shape))
