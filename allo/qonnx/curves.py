"""Chains of functions on floats, as ATen operators: what no table of levels holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from allo.models.graph import Meta, Ref

from .reading import Node
from .values import Function, Step

BINARY = {
    "Add": "aten.add.Tensor",
    "Sub": "aten.sub.Tensor",
    "Mul": "aten.mul.Tensor",
    "Div": "aten.div.Tensor",
    "Max": "aten.maximum.default",
    "Min": "aten.minimum.default",
}
"""Of two operands."""
_UNARY = {
    op: f"aten.{op.lower()}.default"
    for op in ("Relu", "Sigmoid", "Tanh", "Exp", "Log", "Erf", "Sqrt", "Abs", "Neg", "Reciprocal")
}
_SAME = frozenset({"Identity", "Dropout", "Cast"})
CURVES = (*BINARY, *_UNARY, *sorted(_SAME), "BatchNormalization", "Clip", "Gelu", "Pow")
"""The operators that are supported between floats."""

Emit = Callable[[Node, str, dict[str, Any], Meta], str]
Hold = Callable[[Any], str]


def curve(value: Function, start: str, emit: Emit, hold: Hold) -> str:
    """The name of a function's result in float32.

    Args:
        value: the function.
        start: the name of the floats that its steps begin with.
        emit: makes an operator, and names its result.
        hold: makes a constant of an array, and names it.

    Raises:
        UnsupportedOperatorError: an operator that has no form on floats.
    """
    name = start
    for step in value.steps:
        meta = Meta(value.shape, "float32")
        for target, args in _forms(step, name, start, emit, hold):
            name = emit(step.node, target, args(name), meta)
    return name


Made = tuple[str, Callable[[str], dict[str, Any]]]


def _forms(step: Step, name: str, start: str, emit: Emit, hold: Hold) -> list[Made]:
    """The operators that a step becomes, each a function of what stands before it."""
    node, op = step.node, step.node.op
    if op in _SAME:
        return []
    if op in BINARY:
        return [(BINARY[op], _operands(step, start, emit, hold))]
    if op in _UNARY:
        return [(_UNARY[op], lambda x: {"self": Ref(x)})]
    if op == "BatchNormalization":
        return _norm(step, hold)
    numbers = [None if not isinstance(a, np.ndarray) else a.reshape(-1) for a in step.others]
    if op == "Gelu":
        form = node.attributes.get("approximate", "none")
        return [("aten.gelu.default", lambda x: {"self": Ref(x), "approximate": form})]
    if op == "Clip":
        given = [*(None if a is None else float(a[0]) for a in numbers[1:]), None, None]
        low, high = (node.attributes.get(key, given[k]) for k, key in enumerate(("min", "max")))
        return [("aten.clamp.default", lambda x: {"self": Ref(x), "min": low, "max": high})]
    if op == "Pow" and step.place == 0 and numbers[1] is not None and numbers[1].size == 1:
        exponent = float(numbers[1][0])
        return [("aten.pow.Tensor_Scalar", lambda x: {"self": Ref(x), "exponent": exponent})]
    raise node.refusal(
        "between floats, of more levels than a table has",
        f"quantise its result; on floats, {', '.join(sorted(CURVES))} are supported.",
    )


def _operands(step: Step, start: str, emit: Emit, hold: Hold) -> Callable[[str], dict[str, Any]]:
    found = next(a for a in step.others if a is not None)
    other = (
        curve(found, start, emit, hold)
        if isinstance(found, Function)
        else hold(np.asarray(found, np.float32))
    )
    more = {"alpha": 1} if step.node.op in ("Add", "Sub") else {}

    def args(name: str) -> dict[str, Any]:
        pair = (Ref(name), Ref(other)) if step.place == 0 else (Ref(other), Ref(name))
        return {"self": pair[0], "other": pair[1], **more}

    return args


def _norm(step: Step, hold: Hold) -> list[Made]:
    """A batch norm is one factor and one addend for each channel."""
    gamma, beta, mean, variance = (np.asarray(a, np.float64) for a in step.others[1:5])
    factor = gamma / np.sqrt(variance + float(step.node.attributes.get("epsilon", 1e-5)))
    addend = beta - mean * factor
    made: list[Made] = []
    for target, array in (("aten.mul.Tensor", factor), ("aten.add.Tensor", addend)):
        each = np.asarray(array, np.float32)
        each = each.reshape(-1, *[1] * (step.rank - 2))
        other, more = hold(each), {"alpha": 1} if "add" in target else {}
        made.append(
            (
                target,
                lambda x, other=other, more=more: {"self": Ref(x), "other": Ref(other), **more},
            )
        )
    return made
