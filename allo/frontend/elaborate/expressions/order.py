"""Values in the order in which Python computes them, also where a later one calls a function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, get_args

from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays.lazy import Value
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.tree import ArgValue, Compute, Computed, Const, Expr, IndexValue

_EXPRESSIONS = get_args(Expr)


def ordered_pair(ctx: FunctionContext, left: ast.expr, right: ast.expr) -> tuple[Value, Value]:
    """Both operands, the left evaluated first even where the right one calls a function."""
    a, b = ordered(ctx, [left, right])
    return a, b


def ordered(ctx: FunctionContext, nodes: Sequence[ast.expr]) -> list[Value]:
    """Values evaluated from left to right: each as it is before the next one calls a function."""
    return in_order(ctx, [partial(dispatch.expression, ctx, node) for node in nodes])


def ordered_scalars(ctx: FunctionContext, nodes: Sequence[ast.expr]) -> list[Expr]:
    """The same for expressions that must be scalars."""
    return in_order(ctx, [partial(dispatch.scalar, ctx, node) for node in nodes])


def in_order[T](ctx: FunctionContext, steps: Sequence[Callable[[], T]]) -> list[T]:
    """What the steps give; scalars among it are read before the statements of later steps."""
    values: list[T] = []
    marks: list[int] = []
    for step in steps:
        mark = len(ctx.block)
        values.append(step())
        if len(ctx.block) > mark:
            _settle(ctx, values, marks)
        marks.append(len(ctx.block))
    return values


def _settle(ctx: FunctionContext, values: list[Any], marks: list[int]) -> None:
    """Compute the values before the last where each one stood, behind their own statements."""
    for number in reversed(range(len(marks))):
        if not isinstance(values[number], _EXPRESSIONS):
            continue
        size = len(ctx.block)
        values[number] = computed_before(ctx, marks[number], values[number])
        grown = len(ctx.block) - size
        marks[number:] = [mark + grown for mark in marks[number:]]


def computed_before(ctx: FunctionContext, mark: int, value: Expr) -> Expr:
    """``value`` as it was before the statements from ``mark`` on."""
    if not reads_storage(value):
        return value
    statement = Compute(value.place, value)
    ctx.block.insert(mark, statement)
    return Computed(value.dtype, value.place, statement)


def reads_storage(value: Expr) -> bool:
    """Whether statements may change what an expression gives."""
    return not isinstance(value, (Const, IndexValue, ArgValue, Computed))
