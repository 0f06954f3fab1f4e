"""The layers of two images: sums and products, element by element, and images side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..graph import Operator, Ref
from .integers import multiplied, rounding_of
from .levels import refused

_CONCAT = "aten.cat.default"
_OF_LEVELS = ("levels.add", "levels.mul")
_OF_BYTES = ("tflite.add", "tflite.sub", "tflite.mul")


def layer(reading: Any, op: Operator, fused: set[str]) -> Any:
    """The layer of an operator of several images, or None."""
    if op.target == _CONCAT:
        return _concat(reading, op)
    if op.target in (*_OF_LEVELS, *_OF_BYTES):
        return _pairs(reading, op)
    return None


def _images(reading: Any, op: Operator, refs: Sequence[Ref]) -> list[str]:
    """The names of the images that an operator takes.

    Raises:
        UnsupportedOperatorError: one is no stream of integers.
    """
    if not all(map(reading.is_value, refs)):
        raise refused(op, "takes what is no stream", "tensors of integers that layers give.")
    if any("int" not in reading.meta(ref).dtype for ref in refs):
        raise refused(op, "takes floats", "a quantiser before it.")
    return [reading.named(ref) for ref in refs]


def _pairs(reading: Any, op: Operator) -> Any:
    """``self * first + other * second`` of two images, or their product."""
    args, library = op.args, reading.library
    both, multiplies = (args["self"], args["other"]), op.target.endswith("mul")
    verb = "multiplies" if multiplies else "adds"
    if not all(map(reading.is_value, both)):
        raise refused(op, f"{verb} what is no stream", "two tensors that layers give.")
    names = _images(reading, op, both)
    if names[0] == names[1]:
        raise refused(op, f"{verb} a tensor and itself", "a function of the one tensor.")
    pixels = {reading.pixels[name] for name in names}
    metas = [reading.meta(ref) for ref in both] + [reading.meta_of(op)]
    if len(pixels) > 1 or len({meta.shape for meta in metas}) > 1:
        raise refused(op, f"{verb} images of two shapes", "two of one shape.")
    rounding = None
    if op.target in _OF_BYTES:
        if {meta.dtype for meta in metas} != {"int8"}:
            raise refused(op, f"{verb} other elements than int8", "a network of int8.")
        operands, rounding = _of_bytes(reading, op), rounding_of(reading, args)
    elif multiplies:
        operands = [
            library.Operand(reading.element_of(ref), zero[0], offset=zero[1])
            for ref, zero in zip(both, (args["zero_left"], args["zero_right"]), strict=True)
        ]
    else:
        operands = [
            library.Operand(reading.element_of(ref), args[key])
            for ref, key in zip(both, ("first", "second"), strict=True)
        ]
    (shape,) = pixels
    reading.pixels[op.name] = shape
    return library.Sum(
        op.name, tuple(names), prod(shape), shape[2], tuple(operands), rounding, multiplies
    )


def _of_bytes(reading: Any, op: Operator) -> list[Any]:
    """The operands of TFLite's sums and products."""
    args, library = op.args, reading.library
    if op.target == "tflite.mul":
        return [library.Operand(offset=-args[key]) for key in ("zero_left", "zero_right")]
    levels = np.arange(-128, 128, dtype=np.int64)
    operands = []
    for zero, word, sign in (
        (args["zero_left"], "first", 1),
        (args["zero_right"], "second", args["sign"]),
    ):
        table = multiplied((levels - zero) << args["shift"], args, word) * sign
        operands.append(library.Operand(table=table))
    return operands


def _concat(reading: Any, op: Operator) -> Any:
    """Images side by side, two at a time; all layers but the last are added to the reading."""
    refs, shape = op.args["tensors"], reading.meta_of(op).shape
    names = _images(reading, op, refs)
    channel = 1 if reading.channels_first else len(shape) - 1
    if op.args["dim"] % len(shape) != channel:
        raise refused(
            op,
            f"puts images side by side along dimension {op.args['dim']}",
            "channels, so that each pixel is made of one of each image.",
        )
    parts = [_pixels(reading, op, ref) for ref in refs]
    places = parts[0][0] * parts[0][1]
    library = reading.library
    taken, channels, element = names[0], parts[0][2], reading.element_of(refs[0])
    made = None
    for number, (name, ref, pixels) in enumerate(
        zip(names[1:], refs[1:], parts[1:], strict=True), 1
    ):
        if made is not None:
            reading.layers.append(made)
        own = op.name if number == len(refs) - 1 else f"{op.name}_{number}"
        pair, elements = (channels, pixels[2]), (element, reading.element_of(ref))
        made = library.Concat(own, (taken, name), places, pair, elements)
        taken, channels, element = own, sum(pair), made.element
        reading.pixels[own] = (*pixels[:2], channels)
    if made is None:
        raise refused(op, "takes one image", "two or more.")
    return made


def _pixels(reading: Any, op: Operator, ref: Ref) -> tuple[int, int, int]:
    """Height, width and channels in which an image is put beside others."""
    found: tuple[int, int, int] = reading.pixels[reading.named(ref)]
    mine: tuple[int, int, int] = reading.pixels_of(reading.meta(ref).shape)
    if mine == found or not reading.channels_first:
        return mine
    raise refused(op, "reads a view of an image", "the images themselves, and a Flatten behind.")
