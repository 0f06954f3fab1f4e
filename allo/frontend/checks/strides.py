"""Array types across calls: an argument that is given a view anywhere has a strided type, and an
array lives in one memory on both sides of a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from allo.dialects.diagnostics import TypeMismatchError

from ..affine import Affine
from ..tree import Call, For, Function, If, Stmt, Var, View, While

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
    """Settle strides and memories of array arguments; callees stand before callers.

    Raises:
        TypeMismatchError: when an array would live in two memories.
    """
    links = list(_links(functions))
    for _, argument, parameter in links:
        _receive(parameter, argument)
    while sum(_share_memory(call, argument, parameter) for call, argument, parameter in links):
        continue


def _links(functions: Sequence[Function]) -> Iterator[tuple[Call, Any, Var]]:
    """Every (call, array passed, parameter), callers first."""
    by_name = {f.name: f for f in functions}
    for function in reversed(functions):
        for call in calls(function.body):
            callee = by_name.get(call.callee)
            if callee is None:
                continue
            for argument, parameter in zip(call.args, callee.params, strict=True):
                if isinstance(parameter, Var):
                    yield call, argument, parameter


def _share_memory(call: Call, argument: Any, parameter: Var) -> bool:
    """Let the side without a memory take the other's; whether anything changed."""
    var = argument.var if isinstance(argument, View) else argument
    if not isinstance(var, Var) or var.memory == parameter.memory:
        return False
    if parameter.memory is None:
        parameter.memory = var.memory
        return True
    if var.memory is None:
        var.memory = parameter.memory
        return True
    raise TypeMismatchError(
        f"{var.name} is in {var.memory}, but {call.callee} wants {parameter.name} in "
        f"{parameter.memory}.",
        call.place,
        help="give both the same Memory, or copy the array first.",
        notes=((f"{var.name} is declared here", var.place), ("the parameter", parameter.place)),
    )


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
