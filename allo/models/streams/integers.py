"""The layers of TFLite's graphs: products, tables, and whatever is computed on a whole image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from allo.dialects.diagnostics import UnsupportedOperatorError

from ..generated import functions_of_text
from ..graph import Model, Operator, Ref
from ..lowering import TOP, lower_model
from ..storage.choices import Storage
from ..types import Types
from .levels import refused
from .outside import Given, mode_of

_PRODUCTS = {"tflite.conv2d": 0, "tflite.depthwise_conv2d": 3, "tflite.fully_connected": 0}
"""Of the weights: the dimension of the channels of the result."""


def layer(reading: Any, op: Operator, fused: set[str]) -> Any:
    """The layer of an operator of TFLite, or None."""
    if op.target in _PRODUCTS and _is_folded(reading, op):
        return _product(reading, op)
    if op.target == "quantized.lookup" and reading.is_value(op.args["input"]):
        return _table(reading, op)
    return None


def _is_folded(reading: Any, op: Operator) -> bool:
    """Whether a product is one of int8."""
    args, (meta,) = op.args, op.metas
    source = reading.meta(args["input"])
    if meta is None or {source.dtype, meta.dtype} != {"int8"}:
        return False
    weight = reading.array(args["weight"])
    if op.target == "tflite.fully_connected":
        return bool(prod(source.shape) == weight.shape[1])
    return True


def _product(reading: Any, op: Operator) -> Any:
    args, weight = op.args, reading.array(op.args["weight"])
    source, target = reading.meta(args["input"]).shape, reading.meta_of(op).shape
    channel = _PRODUCTS[op.target]
    by_channel, groups = False, 1
    if op.target == "tflite.conv2d":
        groups = source[3] // weight.shape[3]
    elif op.target == "tflite.depthwise_conv2d":
        by_channel = weight.shape[3] == source[3]
        groups = 1 if by_channel else source[3]

    def rows_of(array: Any) -> Any:
        return np.moveaxis(array, channel, 0).reshape(array.shape[channel], -1)

    rows = rows_of(weight)
    path, mode = mode_of(reading, args["weight"])
    if mode and (by_channel or groups > 1):
        raise refused(
            op,
            f"sums groups of channels, and its weights {path!r} are to come from outside",
            "patterns of the other weights, as in weights_as_args=['conv2d_*.weight'].",
        )
    bias = 0 if args.get("bias") is None else reading.array(args["bias"]).astype(np.int64)
    zero = 0 if mode else args["zero_input"]
    shift = bias - zero * rows.astype(np.int64).sum(1)
    shape, places = None, 1
    if op.target != "tflite.fully_connected":
        kernel = tuple(weight.shape[1:3])
        places = target[1] * target[2]
        if by_channel or kernel != (1, 1) or list(args["stride"]) != [1, 1]:
            shape = reading.library.Window(
                tuple(source[1:]),
                (target[1], target[2]),
                kernel,
                tuple(args["stride"]),
                tuple(args["padding"]),
                tuple(args["dilation"]),
            )
    low, high = -(1 << 31), (1 << 31) - 1
    wrapped = (shift - low) % (1 << 32) + low  # as sums of 32 bits do
    wide = rows.astype(np.int64)
    first, second = wide * -128, wide * 127
    if mode:  # of any weights
        reading.given[op.name] = Given(path, weight, rows_of)
        first = np.full(wide.shape, -128 * max(127 - args["zero_input"], 128 + args["zero_input"]))
        second = -first
    least = int((shift + np.minimum(first, second).sum(1)).min())
    most = int((shift + np.maximum(first, second).sum(1)).max())
    bits = 32 if least < low or most > high else max(most, ~least, 1).bit_length() + 1
    return reading.library.Product(
        op.name,
        (reading.named(args["input"]),),
        rows,
        places,
        wrapped,
        bits,
        rounding_of(reading, args),
        shape,
        args["zero_input"],
        by_channel,
        outside=mode,
        means=(1, -args["zero_input"]) if mode else (1, 0),
        groups=groups,
    )


def _table(reading: Any, op: Operator) -> Any:
    """A function of each element, by a table."""
    args, library = op.args, reading.library
    name, kind = reading.named(args["input"]), reading.element_of(args["input"])
    table = np.asarray(reading.array(args["table"]), np.int64).reshape(1, -1)
    element = library.Element.named(reading.meta_of(op).dtype)
    function = library.Steps(element, table=table, low=-args.get("offset", -kind.low))
    height, width, channels = reading.pixels[name]
    reading.pixels[op.name] = reading.pixels[name]
    return library.Function(op.name, (name,), function, kind, height * width, channels)


def rounding_of(reading: Any, args: Mapping[str, Any]) -> Any:
    """What becomes of the sums of an operator, as its arguments say."""
    return reading.library.Rounding(
        factor=reading.array(args["factor"]),
        half=reading.array(args["factor_half"]),
        right=reading.array(args["factor_right"]),
        left=reading.array(args.get("factor_left", 1)),
        sign=reading.array(args.get("factor_sign", 1)),
        wide=args.get("factor_wide", 0),
        zero=args.get("zero", 0),
        low=args["low"],
        high=args["high"],
    )


def whole(reading: Any, op: Operator) -> Any:
    """Any operator of one image of int8, on the whole of it.

    Raises:
        UnsupportedOperatorError: an operator of several images, or of other elements.
    """
    reads = [ref for ref in op.args.values() if reading.is_value(ref)]
    metas = [reading.meta(ref) for ref in reads] + [reading.meta_of(op)]
    if len(reads) != 1 or {meta.dtype for meta in metas} != {"int8"} or reading.channels_first:
        raise UnsupportedOperatorError(
            f"Operator {op.path or op.name} ({op.target}) takes {len(reads)} values of "
            f"{', '.join(sorted({meta.dtype for meta in metas}))}, and no streaming layer does so.",
            op.place,
            help="leave streams out: samples= and s.dataflow put layers side by side on whole arrays.",
        )
    return whole_of(reading, reads[0], [op])


def whole_of(reading: Any, source: Ref, operators: Sequence[Operator]) -> Any:
    """The layer that runs operators, the first of which read ``source``, on a whole image."""
    model, last, library = reading.model, operators[-1], reading.library
    come, go = reading.meta(source), reading.meta_of(last)
    part = Model(
        {source.name: come},
        model.weights,
        model.stored,
        model.constants,
        list(operators),
        [last.name],
        model.narrow,
    )
    generated = lower_model(part, Types(None, ()), Storage(False, {}))
    function = functions_of_text(generated.lines, generated.namespace)[TOP]
    work = (
        2 * prod(come.shape) + sum(40 * prod(reading.meta_of(op).shape) for op in operators) + 100
    )
    taken, made = (library.Element.named(meta.dtype) for meta in (come, go))
    return library.Whole(
        last.name,
        (reading.named(source),),
        function,
        come.shape,
        go.shape,
        work,
        reading.element_of(source),
        taken,
        made,
    )


def multiplied(values: Any, args: Mapping[str, Any], word: str) -> Any:
    """What TFLite's ``MultiplyByQuantizedMultiplier`` makes of numbers, with the arguments ``word…``."""
    scaled = (values * args[f"{word}_left"] * args[word] + (1 << 30)) >> 31
    if args[f"{word}_sign"] == 0:
        return scaled
    return (scaled + args[f"{word}_half"] + (scaled >> 31)) >> args[f"{word}_right"]
