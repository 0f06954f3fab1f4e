"""Views across calls: an array argument that is given a view anywhere has a strided type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .affine import Affine
from .tree import Call, For, Function, If, Stmt, Var, View, While

Strides = tuple["int | None", ...]


def own_strides(var: Var) -> Strides:
    """Strides of a variable, in elements; None where only run time knows."""
    if var.strides is not None:
        return var.strides
    strides: list[int | None] = []
    product: int | None = 1
    for extent in reversed(var.shape):
        strides.append(product)
        product = None if extent is None or product is None else product * extent
    return tuple(reversed(strides))


def view_strides(view: View) -> tuple[Strides, int | None]:
    """(strides of the kept dimensions, constant offset or None) of a view."""
    strides = own_strides(view.var)
    kept = tuple(
        None if stride is None else stride * step
        for stride, step, size in zip(strides, view.steps, view.sizes, strict=True)
        if size is not None
    )
    offset: int | None = None if view.var.strides is not None else 0
    for position, stride in zip(view.offsets, strides, strict=True):
        known = isinstance(position, Affine) and position.is_constant
        if offset is None or not known or stride is None:
            return kept, None
        offset += position.const * stride  # type: ignore[union-attr]
    return kept, offset


def propagate(functions: Sequence[Function]) -> None:
    """Give every argument that receives a view a strided type; callees stand before callers."""
    by_name = {f.name: f for f in functions}
    for function in reversed(functions):
        for call in calls(function.body):
            callee = by_name.get(call.callee)
            if callee is None:
                continue
            for argument, parameter in zip(call.args, callee.params, strict=True):
                if isinstance(parameter, Var):
                    _receive(parameter, argument)


def _receive(parameter: Var, argument: Any) -> None:
    if isinstance(argument, View):
        strides, _ = view_strides(argument)
    elif isinstance(argument, Var) and argument.strides is not None:
        strides = argument.strides
    else:
        return
    if parameter.strides is not None:
        strides = tuple(
            a if a == b else None for a, b in zip(parameter.strides, strides, strict=True)
        )
    elif strides != own_strides(parameter):
        strides = tuple(
            a if a == b else None for a, b in zip(own_strides(parameter), strides, strict=True)
        )
    parameter.strides = strides


def calls(statements: Sequence[Stmt]) -> Iterator[Call]:
    """Every call in a block, nested ones included."""
    for statement in statements:
        if isinstance(statement, Call):
            yield statement
        elif isinstance(statement, For):
            yield from calls(statement.body)
        elif isinstance(statement, If):
            yield from calls(statement.then)
            yield from calls(statement.other)
        elif isinstance(statement, While):
            yield from calls(statement.prelude)
            yield from calls(statement.body)
