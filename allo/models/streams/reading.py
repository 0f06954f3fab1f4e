"""The layers of a graph of integers: convolutions, sums, and whatever is computed on a whole image."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from allo.dialects.diagnostics import UnsupportedOperatorError

from ..generated import functions_of_text
from ..graph import Meta, Model, Operator, Ref
from ..lowering import lower_model
from ..storage.choices import Storage
from ..types import Types

LIBRARY = "allo.library.nn.stream"
_VIEWS = ("aten.view.default",)
_PRODUCTS = {"tflite.conv2d": 0, "tflite.depthwise_conv2d": 3, "tflite.fully_connected": 0}
"""Of the weights: the dimension of the channels of the result."""


class Reading:
    """The layers of a graph.

    Attributes:
        layers: in the order of the graph.
        image: the name of the input, and height, width and channels.
        result: shape of the result.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.library = import_module(LIBRARY)
        self.layers: list[Any] = []
        self._same: dict[str, str] = {}
        self._metas: dict[str, Meta] = dict(model.inputs)
        ((name, meta),) = model.inputs.items()
        if len(meta.shape) != 4 or meta.shape[0] != 1 or meta.dtype != "int8":
            raise UnsupportedOperatorError(
                f"The input {name!r} is {meta.dtype}{list(meta.shape)}, and layers on streams take images of "
                "int8, [1, height, width, channels].",
                help="leave streams out: samples= and s.dataflow put layers side by side on whole arrays.",
            )
        self.image = name, meta.shape[1:]
        for op in model.operators:
            if op.metas[0] is not None:
                self._metas[op.name] = op.metas[0]
            if op.target in _VIEWS:
                self._same[op.name] = self._named(op.args["self"])
            elif op.target in _PRODUCTS and self._is_folded(op):
                self.layers.append(self._product(op))
            elif op.target == "tflite.add" and self._is_sum(op):
                self.layers.append(self._sum(op))
            else:
                self.layers.append(self._whole(op))
        (last,) = model.outputs
        self.result = self._metas[last].shape

    # --- values -----------------------------------------------------------------------------------

    def _named(self, ref: Ref) -> str:
        return self._same.get(ref.name, ref.name)

    def _array(self, value: Any) -> Any:
        """A weight, a constant or a number."""
        if not isinstance(value, Ref):
            return value
        held = self.model.weights.get(value.name)
        return self.model.constants[value.name] if held is None else held[1]

    def _is_value(self, value: Any) -> bool:
        return isinstance(value, Ref) and self._named(value) in self._metas

    # --- layers -----------------------------------------------------------------------------------

    def _is_folded(self, op: Operator) -> bool:
        """Whether a product is one of int8, of one group, without dilation."""
        args, (meta,) = op.args, op.metas
        source = self._metas[args["input"].name]
        if meta is None or {source.dtype, meta.dtype} != {"int8"}:
            return False
        weight = self._array(args["weight"])
        if op.target == "tflite.fully_connected":
            return bool(prod(source.shape) == weight.shape[1])
        return list(args["dilation"]) == [1, 1] and bool(weight.shape[3] == source.shape[3])

    def _product(self, op: Operator) -> Any:
        args, weight = op.args, self._array(op.args["weight"])
        source, target = self._metas[args["input"].name].shape, self._metas[op.name].shape
        channel = _PRODUCTS[op.target]
        by_channel = op.target == "tflite.depthwise_conv2d"
        rows = np.moveaxis(weight, channel, 0).reshape(weight.shape[channel], -1)
        bias = 0 if args.get("bias") is None else self._array(args["bias"]).astype(np.int64)
        shift = bias - args["zero_input"] * rows.astype(np.int64).sum(1)
        shape, places = None, 1
        if op.target != "tflite.fully_connected":
            kernel = tuple(weight.shape[1:3])
            places = target[1] * target[2]
            if by_channel or kernel != (1, 1) or list(args["stride"]) != [1, 1]:
                shape = self.library.Window(
                    tuple(source[1:]),
                    (target[1], target[2]),
                    kernel,
                    tuple(args["stride"]),
                    tuple(args["padding"]),
                )
        low, high = -(1 << 31), (1 << 31) - 1
        wrapped = (shift - low) % (1 << 32) + low  # as sums of 32 bits do
        wide = rows.astype(np.int64)
        first, second = wide * -128, wide * 127
        least = int((shift + np.minimum(first, second).sum(1)).min())
        most = int((shift + np.maximum(first, second).sum(1)).max())
        bits = 32 if least < low or most > high else max(most, ~least, 1).bit_length() + 1
        return self.library.Product(
            op.name,
            (self._named(args["input"]),),
            rows,
            places,
            wrapped,
            bits,
            self._rounding(args),
            shape,
            args["zero_input"],
            by_channel,
        )

    def _rounding(self, args: Mapping[str, Any]) -> Any:
        return self.library.Rounding(
            factor=self._array(args["factor"]),
            half=self._array(args["factor_half"]),
            right=self._array(args["factor_right"]),
            left=self._array(args.get("factor_left", 1)),
            sign=self._array(args.get("factor_sign", 1)),
            wide=args.get("factor_wide", 0),
            zero=args.get("zero", 0),
            low=args["low"],
            high=args["high"],
        )

    def _is_sum(self, op: Operator) -> bool:
        """Whether a sum is one of two images of int8 of one shape, which differ."""
        both = [op.args["self"], op.args["other"]]
        if not all(map(self._is_value, both)) or self._named(both[0]) == self._named(both[1]):
            return False
        metas = [self._metas[ref.name] for ref in both] + [self._metas[op.name]]
        return all(meta == metas[0] for meta in metas) and metas[0].dtype == "int8"

    def _sum(self, op: Operator) -> Any:
        args = op.args
        levels = np.arange(-128, 128, dtype=np.int64)
        tables = []
        for zero, word, sign in (
            (args["zero_left"], "first", 1),
            (args["zero_right"], "second", args["sign"]),
        ):
            table = multiplied((levels - zero) << args["shift"], args, word) * sign
            bits = max(int(table.max()), ~int(table.min()), 1).bit_length() + 1
            tables.append((table, bits))
        return self.library.Sum(
            op.name,
            (self._named(args["self"]), self._named(args["other"])),
            prod(self._metas[op.name].shape),
            tuple(tables),
            self._rounding(args),
        )

    def _whole(self, op: Operator) -> Any:
        reads = [ref for ref in op.args.values() if self._is_value(ref)]
        metas = [self._metas[ref.name] for ref in reads] + [self._metas[op.name]]
        if len(reads) != 1 or {meta.dtype for meta in metas} != {"int8"}:
            raise UnsupportedOperatorError(
                f"Operator {op.name} ({op.target}) takes {len(reads)} values of "
                f"{', '.join(sorted({meta.dtype for meta in metas}))}, and no streaming layer does so.",
                op.place,
                help="leave streams out: samples= and s.dataflow put layers side by side on whole arrays.",
            )
        part = Model(
            {reads[0].name: metas[0]},
            self.model.weights,
            self.model.stored,
            self.model.constants,
            [op],
            [op.name],
            self.model.narrow,
        )
        generated = lower_model(part, Types(None, ()), Storage(False, {}))
        (name,) = (n for n, path in generated.functions.items() if path)
        function = functions_of_text(generated.lines, generated.namespace)[name]
        work = 2 * prod(metas[0].shape) + 40 * prod(metas[1].shape) + 100
        return self.library.Whole(
            op.name, (self._named(reads[0]),), function, metas[0].shape, metas[1].shape, work
        )


def multiplied(values: Any, args: Mapping[str, Any], word: str) -> Any:
    """What TFLite's ``MultiplyByQuantizedMultiplier`` makes of numbers, with the arguments ``word…``."""
    scaled = (values * args[f"{word}_left"] * args[word] + (1 << 30)) >> 31
    if args[f"{word}_sign"] == 0:
        return scaled
    return (scaled + args[f"{word}_half"] + (scaled >> 31)) >> args[f"{word}_right"]
