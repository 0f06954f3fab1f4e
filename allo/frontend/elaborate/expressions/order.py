"""Values in the order in which Python computes them, also where a later one calls a function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, get_args

from allo.frontend.checks.strides import calls
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value, View
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.shared_parameters import may_share, written_arguments
from allo.frontend.tree import ArgValue, Compute, Computed, Const, Expr, IndexValue, Stmt
from allo.frontend.tree import View as TreeView

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
    """Compute the values before the last where each one stood, behind their own statements.

    Of a part of an array those are its subscripts: as in NumPy it is no copy, and its elements are read
    where they are used. What is computed of arrays is an array of its own.
    """
    for number in reversed(range(len(marks))):
        before = Before(ctx, marks[number])
        if isinstance(values[number], _EXPRESSIONS):
            values[number] = before.keep(values[number])
        elif isinstance(values[number], TreeView):
            values[number].settle(before.keep)
        elif isinstance(values[number], ArrayValue):
            values[number] = before.keep_array(values[number])
        grown = before.mark - marks[number]
        marks[number:] = [mark + grown for mark in marks[number:]]


class Before:
    """Computes values in front of the statements from ``mark`` on, one behind the other."""

    def __init__(self, ctx: FunctionContext, mark: int) -> None:
        self.ctx = ctx
        self.mark = mark

    def keep(self, value: Expr) -> Expr:
        """``value`` as it was before those statements; itself where there are none."""
        if len(self.ctx.block) == self.mark or not reads_storage(value):
            return value
        statement = Compute(value.place, value)
        self.ctx.block.insert(self.mark, statement)
        self.mark += 1
        return Computed(value.dtype, value.place, statement)

    def keep_array(self, value: ArrayValue) -> ArrayValue:
        """The same for an array."""
        later = self.ctx.block[self.mark :]
        if isinstance(value, View) or not _writes(self.ctx, later, value):
            value.settle(self.keep)
            return value
        del self.ctx.block[self.mark :]
        var = stores.fresh_copy(self.ctx, value, "left", value.dtype)
        self.mark = len(self.ctx.block)
        self.ctx.block.extend(later)
        return arrays.whole(var, value.place)


def _writes(ctx: FunctionContext, statements: list[Stmt], value: ArrayValue) -> bool:
    """Whether calls among statements write what an array is computed from."""
    written = [
        var for call in calls(statements) for var in written_arguments(ctx, call.callee, call.args)
    ]
    return any(may_share(ctx, leaf.var, var) for leaf in value.leaves() for var in written)


def reads_storage(value: Expr) -> bool:
    """Whether statements may change what an expression gives."""
    return not isinstance(value, (Const, IndexValue, ArgValue, Computed))
