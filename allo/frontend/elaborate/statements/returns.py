"""``return``: at the end of a function, or earlier, under a condition or in a loop."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import partial
from typing import Any

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace, TypeMismatchError
from allo.dialects.types import AlloType
from allo.frontend.elaborate import dispatch, exits
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value, View
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.expressions import calls
from allo.frontend.elaborate.expressions.fields import as_words
from allo.frontend.elaborate.expressions.order import in_order
from allo.frontend.elaborate.functions.annotations import show_type
from allo.frontend.elaborate.statements import targets
from allo.frontend.rules import operations as ops
from allo.frontend.syntax import is_none
from allo.frontend.tree import Const, Expr, Load, Return, Store, Var


@dataclass(slots=True)
class EarlyReturn:
    """A function that may return before its end keeps what it returns, and that it has."""

    flag: Var
    results: list[Var]


def _prepare(ctx: FunctionContext) -> None:
    """Before the body: a flag and result variables, if some return stands under a condition."""
    if not any(_returns_inside(node) for node in ctx.source.tree.body):
        return
    place = ctx.source.header()
    results = [
        stores.new_local(ctx, "result", dtype, shape, place)
        for dtype, shape in ctx.function.results
    ]
    flag = exits.new_flag(ctx, "returned", ctx.source.tree.body[0])
    ctx.early = EarlyReturn(flag, results)
    ctx.loop_exits.append({ast.Return: flag})


def _returns_inside(node: ast.stmt) -> bool:
    """Whether a statement holds a return under an ``if`` or in a loop."""
    if isinstance(node, (ast.If, ast.For, ast.While)):
        return ast.Return in exits.exits(node)
    return isinstance(node, ast.With) and any(_returns_inside(part) for part in node.body)


def _finish(ctx: FunctionContext) -> None:
    """Behind the body: the one return of the core IR."""
    if ctx.early is None:
        if ctx.returned is None:
            _refuse_missing(ctx)
            ctx.emit(Return(ctx.source.header(), ()))
        return
    if not _ends(ctx.source.tree.body):
        _refuse_missing(ctx)
    place = ctx.source.header()
    values: list[Expr | Var] = [
        var if var.shape else Load(var.dtype, place, var, ()) for var in ctx.early.results
    ]
    ctx.emit(Return(place, tuple(values)))


def _ends(nodes: list[ast.stmt]) -> bool:
    """Whether every way through a block returns."""
    last = nodes[-1]
    if isinstance(last, ast.Return):
        return True
    if isinstance(last, ast.With):
        return _ends(last.body)
    return (
        isinstance(last, ast.If) and bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
    )


def _refuse_missing(ctx: FunctionContext) -> None:
    if not ctx.info.results:
        return
    raise TypeMismatchError(
        f"Missing return statement: {ctx.info.origin} says it returns {shown_results(ctx)}.",
        ctx.source.header(),
        help="return the value on the last line, or drop the `->`.",
    )


def shown_results(ctx: FunctionContext) -> str:
    """The declared results as users write them."""
    return ", ".join(show_type(r.dtype, r.shape) for r in ctx.info.results)


def function_body(ctx: FunctionContext) -> None:
    """The body of a function, and what it returns."""
    with ctx.scope():
        _prepare(ctx)
        dispatch.statements(ctx, ctx.source.tree.body)
        _finish(ctx)


def return_statement(ctx: FunctionContext, node: ast.Return) -> None:
    """``return``, ``return x``, ``return x, y``."""
    place = ctx.place(node)
    wanted = ctx.function.results
    values = _checked_values(ctx, node, place)
    if ctx.early is not None:
        _store(ctx, ctx.early, values, place)
        return
    ctx.returned = node
    taken: list[Expr | Var] = []
    for value, (dtype, shape) in zip(values, wanted, strict=True):
        taken.append(_result(ctx, value, dtype, shape, taken, place))
    ctx.emit(Return(place, tuple(taken)))


def _checked_values(ctx: FunctionContext, node: ast.Return, place: SourcePlace) -> list[Any]:
    wanted = ctx.function.results
    if node.value is None or is_none(node.value):
        if wanted:
            raise TypeMismatchError(
                f"Mismatch in function signature: {ctx.info.origin} must return "
                f"{shown_results(ctx)}.",
                place,
                help="return what the annotation behind -> says, or change it.",
            )
        return []
    if not wanted:
        raise TypeMismatchError(
            "Return value should have a dtype in function signature.",
            place,
            help="write `-> type` behind the arguments.",
        )
    values = _returned_values(ctx, node.value, [dtype for dtype, _ in wanted])
    if len(values) != len(wanted):
        raise TypeMismatchError(
            f"{ctx.info.origin} returns {len(values)} values, but its signature says {len(wanted)}.",
            place,
            help="return as many values as the annotation behind -> says.",
        )
    for value, (dtype, shape) in zip(values, wanted, strict=True):
        _check_shape(ctx, value, dtype, shape, place)
    return values


def _returned_values(ctx: FunctionContext, node: ast.expr, wanted: list[AlloType]) -> list[Any]:
    if isinstance(node, ast.Tuple):
        kinds = [*wanted, *[wanted[0]] * len(node.elts)]
        parts = zip(node.elts, kinds, strict=False)
        return in_order(ctx, [partial(_value, ctx, part, kind) for part, kind in parts])
    if len(wanted) > 1 and isinstance(node, ast.Call):
        return calls.call_values(ctx, node)
    return [_value(ctx, node, wanted[0])]


def _value(ctx: FunctionContext, node: ast.expr, dtype: AlloType) -> Value:
    words = as_words(ctx, node, dtype)
    return dispatch.expression(ctx, node) if words is None else words


def _check_shape(
    ctx: FunctionContext,
    value: Any,
    dtype: AlloType,
    shape: tuple[int | None, ...],
    place: SourcePlace,
) -> None:
    if not shape:
        if isinstance(value, ArrayValue):
            raise ShapeMismatchError(
                f"{ctx.info.origin} returns a scalar, not an array of shape "
                f"{arrays.show(value.shape)}.",
                place,
                help="return one element, or change the annotation behind ->.",
            )
        return
    if not isinstance(value, ArrayValue):
        raise ShapeMismatchError(
            f"{ctx.info.origin} returns an array of shape {arrays.show(shape)}, not a scalar.",
            place,
            help="return an array of that shape, or change the annotation behind ->.",
        )
    if value.shape != shape:
        raise ShapeMismatchError(
            f"{ctx.info.origin} returns {show_type(dtype, shape)}, but this array has "
            f"shape {arrays.show(value.shape)}.",
            place,
            help="return an array of that shape, or change the annotation behind ->.",
        )


def _store(ctx: FunctionContext, early: EarlyReturn, values: list[Any], place: SourcePlace) -> None:
    held = [
        v if isinstance(v, (ArrayValue, Const)) else stores.compute_once(ctx, v) for v in values
    ]
    for value, var in zip(held, early.results, strict=True):
        targets.assign(ctx, targets.whole_target(var, place), value, place)
    ctx.emit(Store(place, early.flag, (), Const(ops.BOOL, place, 1)))


def _result(
    ctx: FunctionContext,
    value: Any,
    dtype: AlloType,
    shape: tuple[int | None, ...],
    taken: list[Expr | Var],
    place: SourcePlace,
) -> Expr | Var:
    """A scalar, or an array of the function's own that nothing else returns."""
    if not shape:
        return ops.cast(value, dtype, place)
    if (
        isinstance(value, View)
        and value.is_whole
        and value.var.kind in ("local", "result")
        and value.dtype == dtype
        and value.var not in taken
    ):
        return value.var
    return stores.fresh_copy(ctx, value, "result", dtype)
