"""Declarations: variables, constants, nested functions."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from allo.dialects.diagnostics import CompileTimeError, TypeMismatchError, UnknownNameError
from allo.dialects.types import AlloType, Float, Stream, Struct
from allo.frontend.capture import MISSING
from allo.frontend.elaborate import dispatch, globals_
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import Value, View
from allo.frontend.elaborate.context import (
    ConstBinding,
    FunctionContext,
    NestedFunction,
    StateBinding,
    StructBinding,
    ValueBinding,
)
from allo.frontend.elaborate.functions import kernel_calls, layouts, regions
from allo.frontend.elaborate.functions.annotations import Declared, declared, show_type
from allo.frontend.elaborate.statements import structs, targets
from allo.frontend.kernel_module import ValueInfo
from allo.frontend.rules import fixed
from allo.frontend.rules.integers import wrap
from allo.frontend.tree import Declare, Var


def declaration(ctx: FunctionContext, node: ast.AnnAssign) -> None:
    """``x: T`` or ``x: T = e``."""
    if not isinstance(node.target, ast.Name):
        raise ctx.unsupported(
            node.target, "Only a plain name can be declared with a type.", "drop the annotation."
        )
    name = node.target.id
    said = declared(ctx, node.annotation)
    _check_redeclaration(ctx, node.target, said)
    layouts.refuse_layouts(
        ctx, [ValueInfo(name, said.dtype, said.shape, None, said.layout, said.place)]
    )
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
    found = _array_or_scalar(ctx, node.id)
    if found is None:
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


def _array_or_scalar(ctx: FunctionContext, name: str) -> Var | View | None:
    """The variable of a name, or the part of an array that it stands for."""
    found = ctx.find_own(name)
    value = found.value if isinstance(found, ValueBinding) else found
    return value if isinstance(value, (Var, View)) else None


def _constexpr(ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared) -> None:
    if said.shape:
        raise CompileTimeError(
            "A ConstExpr is a scalar.",
            said.place,
            help="capture a list or a NumPy array for a table of constants.",
        )
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
            f"The ConstExpr {name} must be a number, not {value!r}.",
            ctx.place(node.value),
            help="give a number that is known while compiling.",
        ) from None
    ctx.bind(name, ConstBinding(number, said.dtype))


def _constexpr_value(value: Any, dtype: AlloType) -> int | float:
    if isinstance(dtype, Float):
        return float(value)
    if fixed.is_fixed(dtype):
        return fixed.number_of(fixed.quantised(value, dtype), dtype)
    return wrap(int(value), dtype)


def _stateful(ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared) -> None:
    init = None if node.value is None else ctx.try_constant(node.value)
    if init is MISSING:
        raise CompileTimeError(
            f"Stateful variable {name!r} must be initialized with a compile-time constant.",
            ctx.place(node.value or node),
            help="start it at a number, a list or a captured NumPy array.",
        )
    place = ctx.place(node.target)

    def make(user: FunctionContext) -> Var | StructBinding:
        if isinstance(said.dtype, Struct):
            return structs.state(user, name, said, init, place)
        return globals_.stateful(user, name, said.dtype, said.shape, init, place, said.memory)

    ctx.bind(name, make(ctx) if ctx.region is None else StateBinding(name, make, place))


def _variable(ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared) -> None:
    if node.value is None:
        if ctx.find_own(name) is None:
            _declare(ctx, name, said, node)
        return
    if _array_or_scalar(ctx, name) is not None and name in ctx.scopes[-1]:
        value = dispatch.expression(ctx, node.value)
        targets.assign(ctx, targets.target(ctx, node.target), value, ctx.place(node))
        return
    if said.shape and _constant_initialiser(ctx, node, name, said):
        return
    value = dispatch.expression(ctx, node.value)
    _initialise(ctx, node, name, said, value)


def _declare(ctx: FunctionContext, name: str, said: Declared, node: ast.AnnAssign) -> Var:
    if None in said.shape:
        raise TypeMismatchError(
            f"{name} has a dynamic extent; only arguments may.",
            said.place,
            help="give a local array a constant shape.",
        )
    place = ctx.place(node)
    var = stores.new_local(ctx, name, said.dtype, said.shape, place, said.memory)
    ctx.bind(name, var)
    return var


def _initialise(
    ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared, value: Value
) -> None:
    place = ctx.place(node)
    if is_fresh(value, said):
        assert isinstance(value, View)
        kernel_calls.rename_result(value.var, name)
        ctx.bind(name, value.var)
        return
    var = _declare(ctx, name, said, node)
    targets.assign(ctx, targets.whole_target(var, place), value, place)


def is_fresh(value: Value, said: Declared | None) -> bool:
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


def function(ctx: FunctionContext, node: ast.FunctionDef) -> None:
    """A nested ``def``: a function of the kernel, or a ``df.kernel`` of a region."""
    if regions.kernel_definition(ctx, node):
        return
    if node.decorator_list:
        raise ctx.unsupported(
            node.decorator_list[0],
            "A nested function takes no decorator outside a df.region.",
            "leave it out, or let the function stand in a df.region.",
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
