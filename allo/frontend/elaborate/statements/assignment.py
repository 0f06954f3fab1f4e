"""Assignments, and statements that are one expression."""

from __future__ import annotations

import ast
from typing import Any

from allo.dialects.diagnostics import SourcePlace, TypeMismatchError
from allo.frontend.elaborate import dispatch, streams
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value, View
from allo.frontend.elaborate.context import FunctionContext, ValueBinding
from allo.frontend.elaborate.expressions import calls, operators
from allo.frontend.elaborate.expressions.order import Before, ordered
from allo.frontend.elaborate.functions import kernel_calls
from allo.frontend.elaborate.statements import declarations, structs, targets
from allo.frontend.rules import operations as ops
from allo.frontend.tree import Const, Effect, Store, Var


def assign(ctx: FunctionContext, node: ast.Assign) -> None:
    """``a = e``, ``a = b = e``, ``a, b = e1, e2``."""
    if streams.assign_pid(ctx, node):
        return
    if len(node.targets) > 1:
        value = dispatch.expression(ctx, node.value)
        if isinstance(value, ArrayValue):
            value = _detached(ctx, value, "shared")
        elif not isinstance(value, Const):
            value = stores.compute_once(ctx, value)
        for goal in node.targets:
            _assign_one(ctx, goal, value, ctx.place(node))
        return
    goal = node.targets[0]
    if structs.assign(ctx, goal, node.value, ctx.place(node)):
        return
    if isinstance(goal, (ast.Tuple, ast.List)):
        _assign_tuple(ctx, node, goal.elts)
        return
    if isinstance(goal, ast.Name) and ctx.find_own(goal.id) is None:
        _bind_new(ctx, goal, dispatch.expression(ctx, node.value), ctx.place(node))
        return
    _assign_one(ctx, goal, dispatch.expression(ctx, node.value), ctx.place(node))


def _assign_one(ctx: FunctionContext, goal: ast.expr, value: Value, place: SourcePlace) -> None:
    if isinstance(goal, ast.Name):
        if goal.id == "_":
            return
        found = ctx.find_own(goal.id)
        if found is None:
            _bind_new(ctx, goal, value, place)
            return
        _check_assignable(ctx, goal, found)
    mark = len(ctx.block)
    target = targets.target(ctx, goal)
    if len(ctx.block) > mark:
        value = _as_before(ctx, mark, value)
    targets.assign(ctx, target, value, place)


def _as_before(ctx: FunctionContext, mark: int, value: Value) -> Value:
    """The right side as it was before the statements of the target's subscripts, from ``mark`` on."""
    if not isinstance(value, ArrayValue):
        return Before(ctx, mark).keep(value)
    later = ctx.block[mark:]
    del ctx.block[mark:]
    value = _detached(ctx, value, "right")
    ctx.block.extend(later)
    return value


def _check_assignable(ctx: FunctionContext, goal: ast.Name, found: Any) -> None:
    if isinstance(found, Var) and (found.kind != "const" or found.user_declared):
        return
    if isinstance(found, ValueBinding) and isinstance(found.value, View):
        return
    kind = {
        "IterBinding": "a loop iterator",
        "ConstBinding": "a compile-time constant",
        "NestedFunction": "a function",
        "StreamBinding": "a stream",
    }.get(type(found).__name__, "a constant")
    raise TypeMismatchError(
        f"{goal.id} is {kind}; it cannot be assigned to.",
        ctx.place(goal),
        help="use another name.",
    )


def _bind_new(ctx: FunctionContext, goal: ast.Name, value: Value, place: SourcePlace) -> None:
    """The first assignment of a name declares it with the value's type."""
    if goal.id == "_":
        return
    if isinstance(value, ArrayValue):
        if declarations.is_fresh(value, None):
            assert isinstance(value, View)
            kernel_calls.rename_result(value.var, goal.id)
            ctx.bind(goal.id, value.var)
            return
        ctx.bind(goal.id, stores.fresh_copy(ctx, value, goal.id, value.dtype))
        return
    if structs.bind_value(ctx, goal.id, value, place):
        return
    var = stores.new_local(ctx, goal.id, value.dtype, (), place)
    ctx.emit(Store(place, var, (), value))
    ctx.bind(goal.id, var)


def _assign_tuple(ctx: FunctionContext, node: ast.Assign, goals: list[ast.expr]) -> None:
    values = _tuple_values(ctx, node)
    if len(values) != len(goals):
        raise TypeMismatchError(
            f"{len(goals)} targets cannot take {len(values)} values.",
            ctx.place(node),
            help="write as many targets as values.",
        )
    place = ctx.place(node)
    held = [
        v if isinstance(v, (ArrayValue, Const)) else stores.compute_once(ctx, v) for v in values
    ]
    for goal, value in zip(goals, held, strict=True):
        _assign_one(ctx, goal, value, place)


def _tuple_values(ctx: FunctionContext, node: ast.Assign) -> list[Value]:
    if isinstance(node.value, (ast.Tuple, ast.List)):
        values = ordered(ctx, node.value.elts)
        return [_detached(ctx, v, "swap") if isinstance(v, ArrayValue) else v for v in values]
    if isinstance(node.value, ast.Call):
        return calls.call_values(ctx, node.value)
    raise ctx.unsupported(
        node.value,
        "A tuple assignment takes a tuple or a call on its right.",
        "write a, b = e1, e2 or a, b = f(x).",
    )


def _detached(ctx: FunctionContext, value: ArrayValue, name: str) -> ArrayValue:
    """An array on the right, safe from the stores on the left."""
    if declarations.is_fresh(value, None):
        return value
    return arrays.whole(stores.fresh_copy(ctx, value, name, value.dtype), value.place)


def augmented(ctx: FunctionContext, node: ast.AugAssign) -> None:
    """``a += e``: computed in the type of the rule, and cast back."""
    symbol = operators.BINARY_SYMBOLS.get(type(node.op))
    if symbol is None:
        raise dispatch.unsupported_node(ctx, node)
    if isinstance(node.target, ast.Name):
        found = ctx.find_own(node.target.id)
        if found is None:
            raise ctx.unknown_name(node.target, node.target.id)
        _check_assignable(ctx, node.target, found)
    place = ctx.place(node)
    goal = targets.target(ctx, node.target)
    mark = len(ctx.block)
    value = dispatch.expression(ctx, node.value)
    before = Before(ctx, mark)
    goal = targets.settled(goal, before.keep)
    old: Value = goal if isinstance(goal, View) else before.keep(goal.load())
    result = operators.apply_binary(ctx, symbol, old, value, place)
    targets.assign(ctx, goal, result, place)


def expression_statement(ctx: FunctionContext, node: ast.Expr) -> None:
    """A call, or a docstring."""
    value = node.value
    if isinstance(value, ast.Constant) and (isinstance(value.value, str) or value.value is ...):
        return
    if isinstance(value, ast.Call):
        calls.statement(ctx, value)
        return
    raise ctx.unsupported(
        node,
        f"The value of {ast.unparse(value)} is not used.",
        "only calls and docstrings stand alone; assign the value, or delete the line.",
    )


def nothing(ctx: FunctionContext, node: ast.Pass) -> None:
    """``pass``."""
    del ctx, node


def assertion(ctx: FunctionContext, node: ast.Assert) -> None:
    """``assert condition, "text"``: checked in simulation."""
    condition = ops.truth(dispatch.scalar(ctx, node.test))
    text = "assertion failed"
    if node.msg is not None:
        text = str(ctx.constant(node.msg, "The message of an assertion"))
    elif isinstance(node.test, ast.expr):
        text = f"{ast.unparse(node.test)} does not hold"
    ctx.emit(Effect(ctx.place(node), "assert", (condition,), (text,)))
