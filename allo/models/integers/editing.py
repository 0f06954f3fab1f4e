"""Graphs of models, changed: the operators that read a value, new operators, other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..graph import Meta, Model, Operator, Ref


def readers_of(model: Model) -> dict[str, list[Operator]]:
    """The operators that read each value."""
    found: dict[str, list[Operator]] = {}
    for op in model.operators:
        for name in dict.fromkeys(op.refs()):
            found.setdefault(name, []).append(op)
    return found


def array_of(model: Model, ref: Any) -> Any:
    """The elements of a weight or constant; None for anything else."""
    if not isinstance(ref, Ref):
        return None
    if ref.name in model.weights:
        return model.weights[ref.name][1]
    return model.constants.get(ref.name)


def beside(op: Operator, name: str, target: str, args: dict[str, Any], meta: Meta) -> Operator:
    """A new operator that stands where another one does."""
    return Operator(name, target, args, (meta,), op.stack, op.place)


def renamed(op: Operator, names: Mapping[str, str]) -> Operator:
    """An operator that reads other values."""
    if not any(name in names for name in op.refs()):
        return op
    return replace(op, args={key: _renamed(value, names) for key, value in op.args.items()})


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Ref):
        return Ref(names.get(value.name, value.name))
    if isinstance(value, (list, tuple)):
        return [_renamed(item, names) for item in value]
    return value


def resolved(value: Any, values: Mapping[str, Any]) -> Any:
    """An argument with values in the place of references."""
    if isinstance(value, Ref):
        return values[value.name]
    if isinstance(value, list):
        return [resolved(item, values) for item in value]
    return value


def listed(value: Any, count: int) -> list[int]:
    """An argument that may be one number for all dimensions, a number for each."""
    whole = list(value) if isinstance(value, (list, tuple)) else [value]
    return whole * count if len(whole) == 1 else whole


def rename_values(model: Model, names: Mapping[str, str]) -> None:
    """Let everything read ``names[value]`` instead of ``value``."""
    model.operators = [renamed(op, names) for op in model.operators]
    model.outputs = [names.get(name, name) for name in model.outputs]
