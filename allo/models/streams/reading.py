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
from . import levels

LIBRARY = "allo.library.nn.stream"
_VIEWS = ("aten.view.default",)
_PRODUCTS = {"tflite.conv2d": 0, "tflite.depthwise_conv2d": 3, "tflite.fully_connected": 0}
"""Of the weights: the dimension of the channels of the result."""


class Reading:
    """The layers of a graph.

    Attributes:
        layers: in the order of the graph.
        image: the name of the input, and height, width and channels.
        channels_first: whether it lies as ``[channels, height, width]``.
        array_shape: of an image as it lies.
        result: shape of the result.
        table: of float32, what each level of the last layer becomes; None for results of int8.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.library = import_module(LIBRARY)
        self.layers: list[Any] = []
        self._same: dict[str, str] = {}
        self._metas: dict[str, Meta] = dict(model.inputs)
        self.table: Any = None
        self.images: dict[str, tuple[int, ...]] = {}
        """Of values that are images as rows of numbers: channels, height and width."""
        ((name, meta),) = model.inputs.items()
        if len(meta.shape) != 4 or meta.shape[0] != 1 or meta.dtype != "int8":
            raise UnsupportedOperatorError(
                f"The input {name!r} is {meta.dtype}{list(meta.shape)}, and layers on streams take images of "
                "int8, four dimensions and a batch of 1.",
                help="leave streams out: samples= and s.dataflow put layers side by side on whole arrays.",
            )
        self.channels_first = any(op.target in levels.PRODUCTS for op in model.operators)
        self.array_shape = meta.shape[1:]
        inner = meta.shape[1:]
        self.image = name, (*inner[1:], inner[0]) if self.channels_first else inner
        fused: set[str] = set()
        for op in model.operators:
            if op.metas[0] is not None:
                self._metas[op.name] = op.metas[0]
            if op.name not in fused:
                self._read(op, fused)
        (last,) = model.outputs
        self.result = self._metas[last].shape

    def _read(self, op: Operator, fused: set[str]) -> None:
        """Add the layer of an operator; ``fused`` are those that belong to a layer before them."""
        if op.target in _VIEWS:
            self._same[op.name] = self.named(op.args["self"])
            self.images[self._same[op.name]] = self.meta(op.args["self"]).shape[1:]
        elif op.target in _PRODUCTS and self._is_folded(op):
            self.layers.append(self._product(op))
        elif op.target == "tflite.add" and self._is_sum(op):
            self.layers.append(self._sum(op))
        elif op.target in levels.PRODUCTS:
            following = self._only_reader(op, "levels.thresholds")
            self.layers.append(levels.product(self, op, following))
            fused |= {following.name} if following else set()
        elif op.target == levels.POOL:
            self.layers.append(levels.pool(self, op))
        elif op.target == levels.TABLE and self._ends(op):
            self.table = np.asarray(self.array(op.args["table"]), np.float32)
        else:
            self.layers.append(self._whole(op))

    def _only_reader(self, op: Operator, target: str) -> Operator | None:
        """The operator of a kind that alone reads another one, or None."""
        found = [other for other in self.model.operators if op.name in other.refs()]
        is_one = len(found) == 1 and found[0].target == target
        return found[0] if is_one and op.name not in self.model.outputs else None

    def _ends(self, op: Operator) -> bool:
        """Whether a table makes the result, a float of each element of the last layer."""
        args = op.args
        is_last = self.model.outputs == [op.name] and self.layers
        reads = self.named(args["input"])
        return bool(
            is_last and not args["axes"] and not args["low"] and reads == self.layers[-1].name
        )

    # --- values -----------------------------------------------------------------------------------

    def named(self, ref: Ref) -> str:
        """The layer, or the input, that a value is."""
        return self._same.get(ref.name, ref.name)

    def array(self, value: Any) -> Any:
        """A weight, a constant or a number."""
        if not isinstance(value, Ref):
            return value
        held = self.model.weights.get(value.name)
        return self.model.constants[value.name] if held is None else held[1]

    def meta(self, ref: Ref) -> Meta:
        """Shape and type of a value."""
        return self._metas[ref.name]

    def meta_of(self, op: Operator) -> Meta:
        """Shape and type of a result."""
        return self._metas[op.name]

    def _is_value(self, value: Any) -> bool:
        return isinstance(value, Ref) and self.named(value) in self._metas

    # --- layers -----------------------------------------------------------------------------------

    def _is_folded(self, op: Operator) -> bool:
        """Whether a product is one of int8, of one group, without dilation."""
        args, (meta,) = op.args, op.metas
        source = self._metas[args["input"].name]
        if meta is None or {source.dtype, meta.dtype} != {"int8"}:
            return False
        weight = self.array(args["weight"])
        if op.target == "tflite.fully_connected":
            return bool(prod(source.shape) == weight.shape[1])
        return list(args["dilation"]) == [1, 1] and bool(weight.shape[3] == source.shape[3])

    def _product(self, op: Operator) -> Any:
        args, weight = op.args, self.array(op.args["weight"])
        source, target = self._metas[args["input"].name].shape, self._metas[op.name].shape
        channel = _PRODUCTS[op.target]
        by_channel = op.target == "tflite.depthwise_conv2d"
        rows = np.moveaxis(weight, channel, 0).reshape(weight.shape[channel], -1)
        bias = 0 if args.get("bias") is None else self.array(args["bias"]).astype(np.int64)
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
            (self.named(args["input"]),),
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
            factor=self.array(args["factor"]),
            half=self.array(args["factor_half"]),
            right=self.array(args["factor_right"]),
            left=self.array(args.get("factor_left", 1)),
            sign=self.array(args.get("factor_sign", 1)),
            wide=args.get("factor_wide", 0),
            zero=args.get("zero", 0),
            low=args["low"],
            high=args["high"],
        )

    def _is_sum(self, op: Operator) -> bool:
        """Whether a sum is one of two images of int8 of one shape, which differ."""
        both = [op.args["self"], op.args["other"]]
        if not all(map(self._is_value, both)) or self.named(both[0]) == self.named(both[1]):
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
            (self.named(args["self"]), self.named(args["other"])),
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
            op.name, (self.named(reads[0]),), function, metas[0].shape, metas[1].shape, work
        )


def multiplied(values: Any, args: Mapping[str, Any], word: str) -> Any:
    """What TFLite's ``MultiplyByQuantizedMultiplier`` makes of numbers, with the arguments ``word…``."""
    scaled = (values * args[f"{word}_left"] * args[word] + (1 << 30)) >> 31
    if args[f"{word}_sign"] == 0:
        return scaled
    return (scaled + args[f"{word}_half"] + (scaled >> 31)) >> args[f"{word}_right"]
