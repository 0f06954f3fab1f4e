"""A graph run by PyTorch in float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from allo.models.graph import Model, Operator
from allo.models.integers.arithmetic import Array
from allo.models.integers.editing import resolved

_RESHAPED = {f"aten.{name}.default": "aten.reshape.default" for name in ("view", "_unsafe_view")}
"""A view of an array that another order of operators has left in pieces is a copy."""


CHAIN = "quantized.chain"
"""Operators one behind the other, each a function of what the first one reads: the argument ``steps``."""


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
                values[op.name] = run_operator(self.torch, op, values)
        return values

    def outputs(self, inputs: Sequence[Any]) -> list[Array]:
        """The results of one call."""
        values = self.values(inputs)
        return [values[name].numpy() for name in self.model.outputs]


def run_operator(torch: Any, op: Operator, values: Mapping[str, Any]) -> Any:
    """The result of an operator by PyTorch, from the tensors that it reads."""
    if op.target == CHAIN:
        known = dict(values)
        for step in op.args["steps"]:
            known[step.name] = run_operator(torch, step, known)
        return known[op.args["steps"][-1].name]
    args = {name: resolved(value, values) for name, value in op.args.items()}
    if op.target == "getitem":
        return args["0"][args["1"]]
    space, name, overload = _RESHAPED.get(op.target, op.target).split(".")
    function = getattr(getattr(getattr(torch.ops, space), name), overload)
    positional, named = [], {}
    for argument in function._schema.arguments:
        if argument.name not in args and argument.has_default_value():
            continue
        value = args.get("size") if argument.name == "shape" else args[argument.name]
        if isinstance(value, str) and "str" not in str(argument.type):
            value = getattr(torch, value)
        if argument.kwarg_only:
            named[argument.name] = value
        else:
            positional.append(value)
    return function(*positional, **named)


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
            known[op.name] = run_operator(torch, op, known)
            if isinstance(known[op.name], torch.Tensor):
                model.constants[op.name] = known[op.name].contiguous().numpy()
    model.operators = left
