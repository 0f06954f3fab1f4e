"""A graph run by PyTorch in float32: what calibration sees of every value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..graph import Model, Operator, Ref
from .weights import Array

_RESHAPED = {f"aten.{name}.default": "aten.reshape.default" for name in ("view", "_unsafe_view")}
"""A view of an array that another order of operators has left in pieces is a copy."""


class FloatModel:
    """Runs a graph with PyTorch's own operators."""

    def __init__(self, torch: Any, model: Model) -> None:
        self.torch = torch
        self.model = model
        arrays = {name: array for name, (_, array) in model.weights.items()} | model.constants
        self.fixed = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}

    def values(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """Every value of one call."""
        values = {**self.fixed, **dict(zip(self.model.inputs, inputs, strict=True))}
        with self.torch.no_grad():
            for op in self.model.operators:
                values[op.name] = self._call(op, values)
        return values

    def outputs(self, inputs: Sequence[Any]) -> list[Array]:
        """The results of one call."""
        values = self.values(inputs)
        return [values[name].numpy() for name in self.model.outputs]

    def applied(self, op: Operator, given: Any) -> Any:
        """An operator of one tensor, applied to another one."""
        with self.torch.no_grad():
            return self._call(op, dict.fromkeys(op.refs(), given))

    def _call(self, op: Operator, values: dict[str, Any]) -> Any:
        args = {name: self._value(value, values) for name, value in op.args.items()}
        if op.target == "getitem":
            return args["0"][args["1"]]
        space, name, overload = _RESHAPED.get(op.target, op.target).split(".")
        function = getattr(getattr(getattr(self.torch.ops, space), name), overload)
        positional, named = [], {}
        for argument in function._schema.arguments:
            if argument.name not in args and argument.has_default_value():
                continue
            value = args.get("size") if argument.name == "shape" else args[argument.name]
            if isinstance(value, str) and "str" not in str(argument.type):
                value = getattr(self.torch, value)
            if argument.kwarg_only:
                named[argument.name] = value
            else:
                positional.append(value)
        return function(*positional, **named)

    def _value(self, value: Any, values: dict[str, Any]) -> Any:
        if isinstance(value, Ref):
            return values[value.name]
        if isinstance(value, list):
            return [self._value(item, values) for item in value]
        return value


def fold_fixed(torch: Any, model: Model) -> None:
    """Compute what depends on weights and constants only, such as a mask from a buffer."""
    runner = FloatModel(torch, model)
    known: dict[str, Any] = dict(runner.fixed)
    left = []
    with torch.no_grad():
        for op in model.operators:
            if not all(name in known for name in op.refs()):
                left.append(op)
                continue
            known[op.name] = runner._call(op, known)
            if isinstance(known[op.name], torch.Tensor):
                model.constants[op.name] = known[op.name].contiguous().numpy()
    model.operators = left


class Peaks:
    """The largest magnitudes that calibration has seen.

    Attributes:
        of_value: of each float value.
        of_channel: of each place of the last dimension, for the values that were asked for.
    """

    def __init__(self, channels: Sequence[str]) -> None:
        self.of_value: dict[str, float] = {}
        self.of_channel: dict[str, Array] = {}
        self._channels = frozenset(channels)

    def see(self, values: dict[str, Any]) -> None:
        """Take the values of one call."""
        for name, tensor in _floats(values):
            magnitude = tensor.abs()
            finite = magnitude[magnitude.isfinite()]
            peak = float(finite.max()) if finite.numel() else 0.0
            self.of_value[name] = max(self.of_value.get(name, 0.0), peak)
            if name in self._channels:
                rows = magnitude.reshape(-1, tensor.shape[-1]).amax(0).numpy()
                self.of_channel[name] = np.maximum(self.of_channel.get(name, rows), rows)


def _floats(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if hasattr(value, "is_floating_point") and value.is_floating_point() and value.numel():
            yield name, value
