"""Statements: declarations, assignments, branches, loops, returns."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from allo.dialects.diagnostics import (
    CompileTimeError,
    SourcePlace,
    TypeMismatchError,
    UnknownNameError,
)
from allo.dialects.internal import foreseen
from allo.dialects.types import AlloType, Float, Stream, Struct

from ..capture import MISSING
from ..consteval import NotConstantError
from ..rules import fixed
from ..rules import operations as ops
from ..tree import Const, Declare, Effect, Expr, Store, Var
from . import branches, calls, expressions, globals_, loops, meta, streams, structs, subscripts
from .arrays import lazy as arrays
from .arrays.lazy import ArrayValue, Value, View
from .context import ConstBinding, FunctionContext, NestedFunction
from .functions import kernel_calls, regions, returns
from .functions.annotations import Declared, declared


def statements(ctx: FunctionContext, nodes: list[ast.stmt]) -> None:
    """Elaborate a block."""
    position = 0
    while position < len(nodes):
        start = position
        if meta.is_meta_branch(nodes[position]):
            position = meta.branch_chain(ctx, nodes, position)
        else:
            statement(ctx, nodes[position])
            position += 1
        left = branches.flags_of(ctx, nodes[start:position])
        if left and position < len(nodes):
            branches.guard_rest(ctx, nodes[start], left, nodes[position:])
            return


def statement(ctx: FunctionContext, node: ast.stmt) -> None:
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise expressions.unsupported_node(ctx, node)
    if ctx.returned is not None:
        raise ctx.unsupported(
            node,
            "This statement can never run: the function has returned.",
            "return must be the last statement.",
        )
    with foreseen("Compiling this statement", ctx.place(node), (NotConstantError,)):
        handler(ctx, node)


# --- declarations -----------------------------------------------------------------------------


def _declaration(ctx: FunctionContext, node: ast.AnnAssign) -> None:
    if not isinstance(node.target, ast.Name):
        raise ctx.unsupported(
            node.target, "Only a plain name can be declared with a type.", "drop the annotation."
        )
    name = node.target.id
    said = declared(ctx, node.annotation)
    _check_redeclaration(ctx, node.target, said)
    if isinstance(said.dtype, Stream):
        regions.declare_stream(ctx, node, name, said)
    elif said.dtype.constexpr:
        _constexpr(ctx, node, name, said)
    elif said.stateful or said.dtype.stateful:
        _stateful(ctx, node, name, said)
    elif isinstance(said.dtype, Struct):
        structs.declare(ctx, node, name, said)
    else:
        _variable(ctx, node, name, said)


def _check_redeclaration(ctx: FunctionContext, node: ast.Name, said: Declared) -> None:
    found = ctx.find_own(node.id)
    if not isinstance(found, Var):
        return
    if found.dtype == said.dtype and found.shape == said.shape:
        return
    raise TypeMismatchError(
        f"{node.id} is already declared as {show_type(found.dtype, found.shape)}; it cannot become "
        f"{show_type(said.dtype, said.shape)}.",
        ctx.place(node),
        help="choose another name.",
        notes=(("the first declaration", found.place),),
    )


def show_type(dtype: Any, shape: tuple[int | None, ...]) -> str:
    """A declared type as users write it."""
    return f"{dtype}{arrays.show(shape)}" if shape else f"{dtype}"


def _constexpr(ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared) -> None:
    if said.shape:
        raise CompileTimeError("A ConstExpr is a scalar.", said.place)
    if node.value is None:
        raise CompileTimeError(
            f"The ConstExpr {name} must be initialised.",
            ctx.place(node),
            help=f"write {name}: ConstExpr[...] = expression.",
        )
    value = ctx.constant(node.value, f"The ConstExpr {name}")
    try:
        number = _constexpr_value(value, said.dtype)
    except (TypeError, ValueError, OverflowError):
        raise CompileTimeError(
            f"The ConstExpr {name} must be a number, not {value!r}.", ctx.place(node.value)
        ) from None
    ctx.bind(name, ConstBinding(number, said.dtype))


def _constexpr_value(value: Any, dtype: AlloType) -> int | float:
    if isinstance(dtype, Float):
        return float(value)
    if fixed.is_fixed(dtype):
        return fixed.number_of(fixed.quantised(value, dtype), dtype)
    return ops.wrap(int(value), dtype)


def _stateful(ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared) -> None:
    if isinstance(said.dtype, Struct):
        raise TypeMismatchError(
            f"A stateful variable cannot be a Struct: {name} is a {said.dtype}.",
            said.place,
            help="keep each field in a stateful variable of its own.",
        )
    init = None if node.value is None else ctx.try_constant(node.value)
    if init is MISSING:
        raise CompileTimeError(
            f"Stateful variable {name!r} must be initialized with a compile-time constant.",
            ctx.place(node.value or node),
            help="start it at a number, a list or a captured NumPy array.",
        )
    place = ctx.place(node.target)
    var = globals_.stateful(ctx, name, said.dtype, said.shape, init, place, said.memory)
    ctx.bind(name, var)


def _variable(ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared) -> None:
    if node.value is None:
        if ctx.find_own(name) is None:
            _declare(ctx, name, said, node)
        return
    found = ctx.find_own(name)
    if isinstance(found, Var) and name in ctx.scopes[-1]:
        value = expressions.expression(ctx, node.value)
        subscripts.assign(
            ctx, subscripts.whole_target(found, ctx.place(node)), value, ctx.place(node)
        )
        return
    if said.shape and _constant_initialiser(ctx, node, name, said):
        return
    value = expressions.expression(ctx, node.value)
    _initialise(ctx, node, name, said, value)


def _declare(ctx: FunctionContext, name: str, said: Declared, node: ast.AnnAssign) -> Var:
    if None in said.shape:
        raise TypeMismatchError(
            f"{name} has a dynamic extent; only arguments may.",
            said.place,
            help="give a local array a constant shape.",
        )
    place = ctx.place(node)
    var = arrays.new_local(ctx, name, said.dtype, said.shape, place, said.memory)
    ctx.bind(name, var)
    return var


def _initialise(
    ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared, value: Value
) -> None:
    place = ctx.place(node)
    if _is_fresh(value, said):
        assert isinstance(value, View)
        kernel_calls.rename_result(value.var, name)
        ctx.bind(name, value.var)
        return
    var = _declare(ctx, name, said, node)
    subscripts.assign(ctx, subscripts.whole_target(var, place), value, place)


def _is_fresh(value: Value, said: Declared | None) -> bool:
    """Whether a value is the whole of a call's own result, which nothing else names."""
    if not isinstance(value, View) or value.var.kind != "result" or value.var.name:
        return False
    if not value.is_whole:
        return False
    return said is None or (
        value.dtype == said.dtype and value.var.shape == said.shape and said.memory is None
    )


def _constant_initialiser(
    ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared
) -> bool:
    """``A: T[...] = list or NumPy array``: a constant, copied if it is ever written."""
    assert node.value is not None
    if isinstance(node.value, (ast.List, ast.Tuple)):
        init = ctx.constant(node.value, f"The initialiser of {name}")
    elif isinstance(node.value, (ast.Name, ast.Subscript, ast.Attribute)):
        init = ctx.try_constant(node.value)
    else:
        return False
    if not isinstance(init, (list, tuple, np.ndarray)):
        return False
    place = ctx.place(node.value)
    try:
        array = np.array(init)
    except ValueError:
        array = np.array(0)
    globals_.check_shape(array, said.shape, place, name)
    var = globals_.declared_constant(ctx, array, name, said.dtype, said.memory, place)
    ctx.emit(Declare(ctx.place(node), var))
    ctx.bind(name, var)
    return True


# --- assignment ---------------------------------------------------------------------------------


def _assign(ctx: FunctionContext, node: ast.Assign) -> None:
    if streams.assign_pid(ctx, node):
        return
    if len(node.targets) > 1:
        value = expressions.expression(ctx, node.value)
        if not isinstance(value, (ArrayValue, Const)):
            value = arrays.compute_once(ctx, value)
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
        _bind_new(ctx, goal, expressions.expression(ctx, node.value), ctx.place(node))
        return
    _assign_one(ctx, goal, expressions.expression(ctx, node.value), ctx.place(node))


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
    target = subscripts.target(ctx, goal)
    if len(ctx.block) > mark and not isinstance(value, ArrayValue):
        value = expressions.computed_before(ctx, mark, value)
    subscripts.assign(ctx, target, value, place)


def _check_assignable(ctx: FunctionContext, goal: ast.Name, found: Any) -> None:
    if isinstance(found, Var) and (found.kind != "const" or found.user_declared):
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
        if _is_fresh(value, None):
            assert isinstance(value, View)
            kernel_calls.rename_result(value.var, goal.id)
            ctx.bind(goal.id, value.var)
            return
        ctx.bind(goal.id, arrays.fresh_copy(ctx, value, goal.id, value.dtype))
        return
    var = arrays.new_local(ctx, goal.id, value.dtype, (), place)
    ctx.emit(Store(place, var, (), value))
    ctx.bind(goal.id, var)


def _assign_tuple(ctx: FunctionContext, node: ast.Assign, goals: list[ast.expr]) -> None:
    values = _tuple_values(ctx, node)
    if len(values) != len(goals):
        raise TypeMismatchError(
            f"{len(goals)} targets cannot take {len(values)} values.", ctx.place(node)
        )
    place = ctx.place(node)
    held = [
        v if isinstance(v, (ArrayValue, Const)) else arrays.compute_once(ctx, v) for v in values
    ]
    for goal, value in zip(goals, held, strict=True):
        _assign_one(ctx, goal, value, place)


def _tuple_values(ctx: FunctionContext, node: ast.Assign) -> list[Value]:
    if isinstance(node.value, (ast.Tuple, ast.List)):
        values = [expressions.expression(ctx, v) for v in node.value.elts]
        return [_detached(ctx, v) for v in values]
    if isinstance(node.value, ast.Call):
        return calls.call_values(ctx, node.value)
    raise ctx.unsupported(
        node.value,
        "A tuple assignment takes a tuple or a call on its right.",
        "write a, b = e1, e2 or a, b = f(x).",
    )


def _detached(ctx: FunctionContext, value: Value) -> Value:
    """An array on the right of a tuple assignment, safe from the stores on the left."""
    if isinstance(value, View) and not _is_fresh(value, None):
        return arrays.whole(arrays.fresh_copy(ctx, value, "swap", value.dtype), value.place)
    return value


def _augmented(ctx: FunctionContext, node: ast.AugAssign) -> None:
    symbol = expressions.BINARY_SYMBOLS.get(type(node.op))
    if symbol is None:
        raise expressions.unsupported_node(ctx, node)
    if isinstance(node.target, ast.Name):
        found = ctx.find_own(node.target.id)
        if found is None:
            raise ctx.unknown_name(node.target, node.target.id)
        _check_assignable(ctx, node.target, found)
    place = ctx.place(node)
    goal = subscripts.target(ctx, node.target)
    old: Value = goal if isinstance(goal, View) else goal.load()
    mark = len(ctx.block)
    value = expressions.expression(ctx, node.value)
    if len(ctx.block) > mark and not isinstance(old, ArrayValue):
        old = expressions.computed_before(ctx, mark, old)
    result = expressions.apply_binary(ctx, symbol, old, value, place)
    subscripts.assign(ctx, goal, result, place)


# --- the rest -------------------------------------------------------------------------------------


def _expression_statement(ctx: FunctionContext, node: ast.Expr) -> None:
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


def _pass(ctx: FunctionContext, node: ast.Pass) -> None:
    del ctx, node


def _return(ctx: FunctionContext, node: ast.Return) -> None:
    returns.return_statement(ctx, node)


def _function(ctx: FunctionContext, node: ast.FunctionDef) -> None:
    if regions.kernel_definition(ctx, node):
        return
    if node.decorator_list:
        raise ctx.unsupported(
            node.decorator_list[0], "A nested function takes no decorator outside a df.region."
        )
    if node.name in ctx.scopes[-1] or isinstance(ctx.find_own(node.name), Var):
        raise UnknownNameError(
            f"The function name {node.name!r} is already in use.",
            ctx.place(node),
            help="choose another name.",
        )
    for argument in node.args.args:
        if isinstance(ctx.find_own(argument.arg), Var):
            raise UnknownNameError(
                f"Argument name {argument.arg!r} conflicts with an existing symbol of "
                f"{ctx.function.name}.",
                ctx.place(argument),
                help="rename the argument: a nested function does not see outer variables.",
            )
    ctx.bind(node.name, NestedFunction(node, ctx))


def _assert(ctx: FunctionContext, node: ast.Assert) -> None:
    condition = ops.truth(expressions.scalar(ctx, node.test))
    text = "assertion failed"
    if node.msg is not None:
        text = str(ctx.constant(node.msg, "The message of an assertion"))
    elif isinstance(node.test, ast.expr):
        text = f"{ast.unparse(node.test)} does not hold"
    ctx.emit(Effect(ctx.place(node), "assert", (condition,), text))


def condition(ctx: FunctionContext, node: ast.expr) -> Expr:
    """A scalar as one bit."""
    return ops.truth(expressions.scalar(ctx, node))


_HANDLERS: dict[type[ast.stmt], Callable[[FunctionContext, Any], None]] = {
    ast.AnnAssign: _declaration,
    ast.Assign: _assign,
    ast.AugAssign: _augmented,
    ast.Expr: _expression_statement,
    ast.Pass: _pass,
    ast.Return: _return,
    ast.FunctionDef: _function,
    ast.Assert: _assert,
    ast.For: loops.for_loop,
    ast.While: loops.while_loop,
    ast.If: branches.if_statement,
    ast.Break: branches.leave,
    ast.Continue: branches.leave,
    ast.With: meta.with_statement,
}
