"""A call of one of allo's whole-array functions, its arguments matched and checked."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace, TypeMismatchError
from allo.dialects.types import AlloType, Float
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Named, Value, View
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.tree import Var


@dataclass(slots=True)
class Request:
    """A call of one of the functions, its arguments by parameter name.

    Attributes:
        band: what ``name=`` gives.
        prefix: what the names of its loops begin with, once they need one.
    """

    ctx: FunctionContext
    node: ast.Call
    function: str
    nodes: dict[str, ast.expr]
    band: str | None
    prefix: str = ""

    @property
    def place(self) -> SourcePlace:
        """Where the call stands."""
        return self.ctx.place(self.node)

    def array(self, name: str) -> ArrayValue:
        """An argument that must be an array."""
        value = dispatch.expression(self.ctx, self.nodes[name])
        if isinstance(value, ArrayValue):
            return value
        raise TypeMismatchError(
            f"allo.{self.function} needs an array for {name}, not a scalar {value.dtype}.",
            self.ctx.place(self.nodes[name]),
            help="pass an array, or write the operator for scalars.",
        )

    def stored(self, name: str) -> View:
        """An array argument that is read many times: computed first unless it is a variable."""
        value = self.array(name)
        if isinstance(value, View):
            return value
        return arrays.whole(stores.fresh_copy(self.ctx, value, name, value.dtype), value.place)

    def named(self, value: Value) -> Value:
        """``value`` with the band ``name=`` gives, where its loops are still to come."""
        if self.band is None or not isinstance(value, ArrayValue):
            return value
        if isinstance(value, View) and value.var.kind == "result" and value.is_whole:
            return value
        return Named(value.dtype, value.shape, value.place, (value,), self.band)

    def error(self, message: str, help: str | None = None) -> ShapeMismatchError:
        """A :class:`ShapeMismatchError` with the function's name."""
        return ShapeMismatchError(f"allo.{self.function}: {message}", self.place, help=help)


def bind(ctx: FunctionContext, node: ast.Call, dsl_function: Any) -> Request:
    """Match a call's arguments with the parameters of the function of ``allo.dsl``."""
    parameters, function = _parameters(dsl_function), dsl_function.__allo_dsl__
    names = [n for n in parameters if n != "name"]
    given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    band = None
    for keyword in node.keywords:
        if keyword.arg == "name":
            band = ctx.constant(keyword.value, "The name of an operation")
        elif keyword.arg in names and keyword.arg is not None:
            given[keyword.arg] = keyword.value
        else:
            raise dispatch.type_error(
                ctx,
                keyword.value,
                f"allo.{function}() has no argument {keyword.arg!r}.",
                f"its arguments: {', '.join(names)}.",
            )
    needed = [n for n in names if parameters[n].default is inspect.Parameter.empty]
    if len(node.args) > len(names) or any(n not in given for n in needed):
        count = len(needed)
        noun = "argument" if count == 1 else "arguments"
        raise dispatch.type_error(
            ctx, node, f"allo.{function}() takes {count} {noun}, not {len(node.args)}."
        )
    return Request(ctx, node, function, given, band)


@lru_cache(maxsize=64)
def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def require_float(request: Request, value: Value) -> None:
    """Refuse elements that are no floats."""
    if not isinstance(value.dtype, Float):
        raise TypeMismatchError(
            f"allo.{request.function} needs floats, not {value.dtype}.",
            request.place,
            help="declare the array as float32.",
        )


def new_result(request: Request, dtype: AlloType, shape: Sequence[int]) -> Var:
    """A fresh array the caller may name."""
    var = stores.new_local(request.ctx, "", dtype, shape, request.place)
    var.kind = "result"
    return var
