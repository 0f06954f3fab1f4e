"""Two tensors: sums and products of levels, element by element, and tensors side by side."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from allo.models.graph import Meta, Ref

from ..convert import Converter
from ..curves import BINARY
from ..reading import Node
from ..values import Affine, Constant, Floats, Function, Levels, aligned, type_of
from .convolutions import padding_level

_LARGEST = 1 << 12
"""The largest factor of a level in a sum."""


def pair(converter: Converter, node: Node) -> None:
    """``Add``, ``Sub`` and ``Mul`` of two quantised tensors are of integers; others stay in float32."""
    left, right = (converter.settled(node, k) for k in (0, 1))
    if node.op == "Mul" and _product(converter, node, left, right):
        return
    if node.op in ("Add", "Sub") and left.affine and right.affine:
        _sum(converter, node, left, right)
        return
    args: dict[str, object] = {
        key: Ref(converter.as_floats(name, node))
        for key, name in zip(("self", "other"), node.inputs, strict=True)
    }
    if node.op in ("Add", "Sub"):
        args["alpha"] = 1
    shape = converter.graph.shapes[node.outputs[0]]
    name = converter.emit(node, BINARY[node.op], args, Meta(shape, "float32"))
    converter.values[node.outputs[0]] = Function(Floats(name, shape))


def _product(converter: Converter, node: Node, left: Function, right: Function) -> bool:
    """Emit the products of two tensors of levels; False where one is none, or has no integers."""
    found = []
    for value in (left, right):
        integers = value.affine.integers() if value.affine else None
        if integers is None or isinstance(value.of, Floats):
            return False
        found.append((value.of, *integers))
    shape = converter.graph.shapes[node.outputs[0]]
    (one, unit, *first), (other, units, *second) = found
    ends = [
        sorted((factor * of.low + shift, factor * of.high + shift))
        for of, _, factor, shift in found
    ]
    corners = [a * b for a in ends[0] for b in ends[1]]
    low, high = min(corners), max(corners)
    args = {
        "self": Ref(one.name),
        "other": Ref(other.name),
        "zero_left": (*first, type_of(*ends[0])),
        "zero_right": (*second, type_of(*ends[1])),
        "sums": type_of(low, high),
    }
    name = converter.emit(node, "levels.mul", args, Meta(shape, type_of(low, high)))
    scale = aligned(unit, len(shape)) * aligned(units, len(shape))
    converter.define(node.outputs[0], Levels(name, shape, low, high), Affine(scale, 0 * scale))
    return True


def _sum(converter: Converter, node: Node, left: Function, right: Function) -> None:
    """``first · left + second · right`` in the unit that both scales are multiples of."""
    first, second = left.of, right.of
    one, other = left.affine, right.affine
    if isinstance(first, Floats) or isinstance(second, Floats) or one is None or other is None:
        return
    sign = 1 if node.op == "Add" else -1
    ratios = np.unique(one.scale / other.scale)
    ratio = Fraction(float(ratios[0]))
    near = ratio.limit_denominator(_LARGEST)
    exact = ratios.size == 1 and near.numerator <= _LARGEST and _equal(one, other, near)
    if not exact:
        largest = max(abs(first.low), abs(first.high))
        error = max(abs(float(r) - float(near)) for r in ratios) * largest
        if ratios.size > 1 or error > converter.accept_error or abs(near.numerator) > _LARGEST:
            raise node.refusal(
                f"of two scales whose ratio is {float(ratios[0]):.9g}, no quotient of integers up to "
                f"{_LARGEST}: the sum would be wrong by up to {error:.3g} units of its second operand",
                "quantise both with one scale, as Brevitas does where layers share a quantiser, or "
                f"accept the error by accept_error={max(error, 1e-6):.2g}.",
            )
    factors = (near.numerator, sign * near.denominator)
    ends = [
        sorted((factor * of.low, factor * of.high))
        for factor, of in zip(factors, (first, second), strict=True)
    ]
    low, high = ends[0][0] + ends[1][0], ends[0][1] + ends[1][1]
    shape = converter.graph.shapes[node.outputs[0]]
    args = {
        "self": Ref(first.name),
        "other": Ref(second.name),
        "first": factors[0],
        "second": factors[1],
    }
    name = converter.emit(node, "levels.add", args, Meta(shape, type_of(low, high)))
    scale = other.scale / near.denominator
    offset = one.offset + sign * other.offset
    converter.define(
        node.outputs[0],
        Levels(name, shape, low, high),
        Affine(*(np.array(a) for a in np.broadcast_arrays(scale, offset))),
    )


def _equal(one: Affine, other: Affine, ratio: Fraction) -> bool:
    """Whether scales, which are products of float32, have this ratio but for their own rounding."""
    return bool(np.allclose(one.scale / other.scale, float(ratio), rtol=2.0**-40, atol=0))


def concat(converter: Converter, node: Node) -> None:
    """``Concat``: levels of one scale, or of one for each channel that is put beside the others."""
    values = [
        converter.values[name]
        if isinstance(converter.values[name], Constant)
        else converter.settled(node, place)
        for place, name in enumerate(node.inputs)
    ]
    shape = converter.graph.shapes[node.outputs[0]]
    axis = int(node.attributes["axis"]) % len(shape)
    levels, scales, offsets = [], [], []
    for value in values:
        if isinstance(value, Constant) or isinstance(value.of, Floats) or value.affine is None:
            break
        one = tuple(1 if k != axis else extent for k, extent in enumerate(value.of.shape))
        kept = np.broadcast_shapes(value.affine.scale.shape, value.affine.offset.shape, one)
        levels.append(value.of)
        scales.append(np.broadcast_to(value.affine.scale, kept))
        offsets.append(np.broadcast_to(value.affine.offset, kept))
    if len(levels) < len(values):
        args = {
            "tensors": [Ref(converter.as_floats(name, node)) for name in node.inputs],
            "dim": axis,
        }
        name = converter.emit(node, "aten.cat.default", args, Meta(shape, "float32"))
        converter.values[node.outputs[0]] = Function(Floats(name, shape))
        return
    low, high = min(of.low for of in levels), max(of.high for of in levels)
    args = {"tensors": [Ref(of.name) for of in levels], "dim": axis}
    name = converter.emit(node, "aten.cat.default", args, Meta(shape, type_of(low, high)))
    affine = Affine(*(_short(np.concatenate(parts, axis)) for parts in (scales, offsets)))
    converter.define(node.outputs[0], Levels(name, shape, low, high), affine)


def _short(array: np.ndarray) -> np.ndarray:
    return array if np.unique(array).size > 1 else array.reshape(-1)[:1].reshape((1,) * array.ndim)


def pad(converter: Converter, node: Node) -> None:
    """``Pad`` with a constant that has a level, such as 0."""
    value = converter.settled(node, 0)
    shape = converter.graph.shapes[node.outputs[0]]
    pads = node.attributes.get("pads")
    if pads is None:
        given = converter.constant(node, 1)
        pads = [] if given is None else given.array.tolist()
    filled = converter.constant(node, 2)
    real = float(
        node.attributes.get("value", 0.0) if filled is None else filled.array.reshape(-1)[0]
    )
    if node.attributes.get("mode", "constant") != "constant" or len(pads) != 2 * len(shape):
        raise node.refusal("in another mode than constant", 'mode="constant" is supported.')
    rank = len(shape)
    order = [int(pads[d + side * rank]) for d in reversed(range(rank)) for side in (0, 1)]
    of = value.of
    if isinstance(of, Floats) or value.affine is None:
        args = {"self": Ref(converter.as_floats(node.inputs[0], node)), "pad": order, "value": real}
        name = converter.emit(node, "aten.constant_pad_nd.default", args, Meta(shape, "float32"))
        converter.values[node.outputs[0]] = Function(Floats(name, shape))
        return
    level = padding_level(node, value, real)
    low, high = min(of.low, level), max(of.high, level)
    args = {"self": Ref(of.name), "pad": order, "value": level}
    name = converter.emit(
        node, "aten.constant_pad_nd.default", args, Meta(shape, type_of(low, high))
    )
    converter.define(node.outputs[0], Levels(name, shape, low, high), value.affine)
