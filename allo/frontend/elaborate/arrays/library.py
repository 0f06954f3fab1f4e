"""Kernels of ``allo.library`` in place: what a whole-array function does is written there only.

The body of the kernel is elaborated where the call stands. Its parameters stand for the caller's
values, of any type and layout, so there is no call, no copy of an argument, and no function of its
own. Every statement made has the place of the call.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from allo.dialects.diagnostics import SourcePlace
from allo.frontend.capture import Names
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import Along, At, Indices, Value, View
from allo.frontend.elaborate.arrays.requests import Request, new_result
from allo.frontend.elaborate.context import ConstBinding, FunctionContext, ValueBinding
from allo.frontend.elaborate.functions.annotations import declared
from allo.frontend.rules import operations as ops
from allo.frontend.source import source_of
from allo.frontend.tree import Declare, Expr, For, If, Stmt, Store, Var

_LIBRARY = "allo.library.nn"


class InPlace(FunctionContext):
    """Elaboration of a library kernel into the function that calls it.

    Attributes:
        at: where the call stands.
    """

    def __init__(
        self, caller: FunctionContext, kernel: Callable[..., Any], at: SourcePlace
    ) -> None:
        names = Names(kernel, caller.module.frames, is_top=False)
        super().__init__(caller.module, source_of(kernel), names, caller.function, caller.info)
        self.at = at
        self.block = []
        self.nests = caller.nests
        self.depth, self.guards, self.dead = caller.depth, caller.guards, caller.dead
        self.symbols = caller.symbols

    def place(self, node: ast.AST) -> SourcePlace:
        """The place of the call, whatever the library's line."""
        del node
        return self.at


def _context(
    request: Request, name: str, values: Mapping[str, Value], constants: Mapping[str, Any]
) -> InPlace:
    """The context of a function of the library, ``file.function``, with its names bound."""
    module, _, function = name.partition(".")
    kernel = getattr(importlib.import_module(f"{_LIBRARY}.{module}"), function)
    made = InPlace(request.ctx, kernel, request.place)
    for parameter, value in values.items():
        made.bind(parameter, ValueBinding(value))
    for constant, number in constants.items():
        made.bind(constant, ConstBinding(number))
    return made


def scalar(request: Request, name: str, x: Expr) -> Expr:
    """A library function of one scalar as an expression: declarations, and what it returns."""
    ctx = _context(request, name, {"x": x}, {"Ty": x.dtype})
    declarations, returned = _body(ctx)
    for node in declarations:
        assert isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        assert node.value is not None
        dtype = declared(ctx, node.annotation).dtype
        ctx.bind(node.target.id, ValueBinding(ops.cast(dispatch.scalar(ctx, node.value), dtype)))
    return ops.cast(dispatch.scalar(ctx, returned), x.dtype, request.place)


def matrix(
    request: Request,
    name: str,
    sizes: tuple[str, str],
    x: View,
    others: Mapping[str, Value],
    constants: Mapping[str, Any],
) -> View:
    """A library kernel of a matrix ``X`` on the last two axes of ``x``, for each index of those before.

    An array of one axis is a matrix of one row.

    Args:
        sizes: the kernel's template parameters that are the matrix's extents.
    """
    result = arrays.whole(new_result(request, x.dtype, x.shape), request.place)
    extents = x.shape[-2:] if len(x.shape) > 1 else (1, *x.shape)
    known = {**constants, **dict(zip(sizes, extents, strict=True)), "Ty": x.dtype}

    def one(index: Indices) -> None:
        values = {"X": _matrix_of(x, index), **others}
        kernel(request, name, values, known, _matrix_of(result, index))

    band = request.band or _prefix(request)
    stores.loop_nest(request.ctx, x.shape[:-2], request.place, one, op_name=band)
    return result


def _matrix_of(view: View, index: Indices) -> View:
    """The last two axes of a view at an index of those before; one axis is the row of a matrix."""
    fixed, added = len(index), max(0, 2 - len(view.shape))

    def selector(own: At | Along) -> At | Along:
        if isinstance(own, At):
            return own
        if own.axis >= fixed:
            return Along(own.offset, own.step, own.axis - fixed + added)
        return At(arrays.plus(own.offset, arrays.scaled(index[own.axis], own.step)))

    shape = (*(1,) * added, *view.shape[fixed:])
    return View(view.var, tuple(map(selector, view.selectors)), shape, view.place)


def kernel(
    request: Request,
    name: str,
    values: Mapping[str, Value],
    constants: Mapping[str, Any],
    result: View,
) -> None:
    """The statements of a library kernel; the array that it returns is ``result``."""
    ctx = _context(request, name, values, constants)
    statements, returned = _body(ctx)
    assert isinstance(returned, ast.Name)
    ctx.bind(returned.id, ValueBinding(result))
    with ctx.scope():
        dispatch.statements(ctx, statements)
    _rename(request, ctx.block, result.var)
    request.ctx.block.extend(ctx.block)
    request.ctx.nests = ctx.nests


def _body(ctx: FunctionContext) -> tuple[list[ast.stmt], ast.expr]:
    """The statements between the docstring and the ``return``, and what that returns."""
    _, *statements, last = ctx.source.tree.body
    assert isinstance(last, ast.Return) and last.value is not None
    return statements, last.value


def _rename(request: Request, block: list[Stmt], result: Var) -> None:
    """Names that are no others' in the function: loops, bands and variables have a prefix.

    With ``name=``, that is the band which writes the result.
    """
    prefix = _prefix(request)
    for statement in _walk(block):
        if isinstance(statement, Declare):
            statement.var.name = f"{prefix}_{statement.var.name}"
        if isinstance(statement, For):
            statement.loop_name = statement.iter.name = f"{prefix}_{statement.loop_name}"
            if statement.op_name is not None:
                statement.op_name = f"{prefix}_{statement.op_name}"
    for statement in block if request.band is not None else ():
        if isinstance(statement, For) and _writes(statement, result):
            statement.op_name = request.band


def _prefix(request: Request) -> str:
    """What the names begin with: ``name=``, else the function's name, with a number from the second on."""
    if request.band is not None:
        return request.band
    if not request.prefix:
        expanded = request.ctx.expanded
        count = expanded[request.function] = expanded.get(request.function, -1) + 1
        request.prefix = f"{request.function}_{count}" if count else request.function
    return request.prefix


def _walk(block: list[Stmt]) -> Iterator[Stmt]:
    """Every statement, those in loops and branches included."""
    for statement in block:
        yield statement
        if isinstance(statement, For):
            yield from _walk(statement.body)
        elif isinstance(statement, If):
            yield from _walk([*statement.then, *statement.other])


def _writes(loop: For, var: Var) -> bool:
    return any(isinstance(s, Store) and s.var is var for s in _walk(loop.body))
