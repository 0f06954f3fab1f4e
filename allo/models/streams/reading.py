"""The layers of a graph of integers: which values are streams, in which order their elements come."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from allo.dialects.diagnostics import UnsupportedOperatorError

from ..graph import Meta, Model, Operator, Ref
from . import integers, joins, levels, pools, results
from .outside import Given, Outside

LIBRARY = "allo.library.nn.stream"
VIEWS = ("aten.view.default",)
Pixels = tuple[int, int, int]


class Reading:
    """The layers of a graph.

    Attributes:
        layers: in the order of the graph.
        image: the name of the input, and height, width and channels.
        element: of the input.
        channels_first: whether images lie as ``[channels, height, width]``.
        array_shape: of an image as it lies.
        result: shape of the result.
        dtype: NumPy's name of the results' type.
        end: makes the unit that fills the array of results, of a number of images and the element.
        outside: which weights come from outside.
        given: these, by the names of their layers.
        pixels: of each value, height, width and channels of the image whose elements come in this order.
    """

    def __init__(self, model: Model, outside: Outside | None = None) -> None:
        self.model, self.outside = model, outside or Outside()
        self.given: dict[str, Given] = {}
        self.library = import_module(LIBRARY)
        self.layers: list[Any] = []
        self._same: dict[str, str] = {}
        made = {op.name: op.metas[0] for op in model.operators if op.metas[0] is not None}
        self._metas: dict[str, Meta] = {**model.inputs, **made}
        self.pixels: dict[str, Pixels] = {}
        self.channels_first = not any(op.target.startswith("tflite.") for op in model.operators)
        (self.image, self.element, self.array_shape) = self._input()
        self.end: Callable[[int, Any], Any] | None = None
        self.dtype = ""
        fused: set[str] = set()
        for op in model.operators:
            if op.name not in fused:
                self._read(op, fused)
        (last,) = model.outputs
        self.result = self._metas[last].shape
        if not self.dtype:
            results.as_levels(self, last)

    def _input(self) -> tuple[tuple[str, Pixels], Any, tuple[int, ...]]:
        """The input: its name and shape, its element, and the array that it is."""
        model = self.model
        metas = list(model.inputs.values())
        whole = len(metas) == 1 and metas[0].shape[0] == 1 and "int" in metas[0].dtype
        if not whole or len(model.outputs) > 1:
            given = ", ".join(f"{m.dtype}{list(m.shape)}" for m in metas)
            raise UnsupportedOperatorError(
                f"The network takes {given} and gives {len(model.outputs)} results, and layers on streams "
                "take one input of integers with a batch of 1, and give one result.",
                help="give from_qonnx input_type=(int8, 1 / 128), or leave streams out: samples= and "
                "s.dataflow put layers side by side on whole arrays.",
            )
        ((name, meta),) = model.inputs.items()
        self.pixels[name] = self.pixels_of(meta.shape)
        height, width, channels = self.pixels[name]
        lies = (channels, height, width) if self.channels_first else (height, width, channels)
        return (name, self.pixels[name]), self.library.Element.named(meta.dtype), lies

    def _read(self, op: Operator, fused: set[str]) -> None:
        """Add the layer of an operator; ``fused`` are those that belong to a layer before them."""
        if op.target in VIEWS:
            self._view(op)
            return
        layer = None
        for reads in (integers.layer, levels.layer, joins.layer, pools.layer):
            layer = layer or reads(self, op, fused)
        if layer is None and results.ends(self, op, fused):
            return
        if layer is None:
            layer = integers.whole(self, op)
        self.layers.append(layer)
        if layer.name not in self.pixels:
            self.pixels[layer.name] = self.pixels_of(self._metas[layer.name].shape)

    def _view(self, op: Operator) -> None:
        """A view: elements stay in their order."""
        name = self.named(op.args["self"])
        shape, pixels = self.meta_of(op).shape, self.pixels[name]
        self._same[op.name] = name
        is_row = prod(shape) == max(shape) or prod(pixels[:2]) == 1 or pixels[2] == 1
        if self.channels_first and not is_row and self.pixels_of(shape) != pixels:
            raise levels.refused(
                op,
                f"makes {list(shape)} of an image of {list(pixels)} (height, width, channels)",
                "views that make one row of an image, or keep height, width and channels.",
            )

    # --- values -----------------------------------------------------------------------------------

    def pixels_of(self, shape: tuple[int, ...]) -> Pixels:
        """Height, width and channels of a value of a shape, whose elements come as pixels."""
        inner = (1, 1, *shape[1:])
        if not self.channels_first:
            return (inner[-3], inner[-2], prod(shape) // (inner[-3] * inner[-2]))
        if len(shape) > 4:
            return (1, 1, prod(shape))
        if len(shape) == 2:
            return (1, 1, shape[1])
        return (1, shape[2], shape[1]) if len(shape) == 3 else (shape[2], shape[3], shape[1])

    def only_reader(self, op: Operator, *targets: str) -> Operator | None:
        """The operator of some kinds that alone reads another one, or None."""
        found = [other for other in self.model.operators if op.name in other.refs()]
        is_one = len(found) == 1 and found[0].target in targets
        return found[0] if is_one and op.name not in self.model.outputs else None

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
        return op.metas[0] or self._metas[op.name]

    def element_of(self, ref: Ref) -> Any:
        """The element of the stream that a value is."""
        name = self.named(ref)
        made = {layer.name: layer.element for layer in self.layers}
        return made.get(name, self.element)

    def is_value(self, value: Any) -> bool:
        """Whether an argument is a stream."""
        return isinstance(value, Ref) and self.named(value) in self.pixels

    def by_pixels(self, rows: Any, name: str) -> Any:
        """The last dimension, of channels, rows and columns of an image, in the order in which these come."""
        height, width, channels = self.pixels[name]
        if not self.channels_first or height * width == 1:
            return rows
        parts = np.asarray(rows).reshape(*rows.shape[:-1], channels, height, width)
        return np.moveaxis(parts, -3, -1).reshape(rows.shape)
