"""Elaboration of any piece of syntax: the handler of its kind is looked up in the language.

Handlers call each other through these functions, so no handler imports another for recursion; `language`
imports them all.
"""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import AlloError, TypeMismatchError, UnsupportedSyntaxError
from allo.dialects.internal import foreseen
from allo.frontend.affine import constant
from allo.frontend.consteval import NotConstantError
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.rules import operations as ops
from allo.frontend.tree import Expr


def expression(ctx: FunctionContext, node: ast.expr) -> Value:
    """The value of an expression.

    Raises:
        UnsupportedSyntaxError: when the construct has no meaning in a kernel.
    """
    handler = ctx.module.language.expressions.get(type(node))
    if handler is None:
        raise unsupported_node(ctx, node)
    value: Value = handler(ctx, node)
    return value


def scalar(ctx: FunctionContext, node: ast.expr) -> Expr:
    """The value of an expression that must be a scalar."""
    return as_scalar(ctx, node, expression(ctx, node))


def as_scalar(ctx: FunctionContext, node: ast.expr, value: Value) -> Expr:
    """The value of ``node``, which must be a scalar."""
    if not isinstance(value, ArrayValue):
        return value
    if value.shape in ((), (1,)):
        return value.element((constant(0),) * len(value.shape))
    raise type_error(
        ctx,
        node,
        f"A scalar is needed here, but {ast.unparse(node)} is an array of shape "
        f"{arrays.show(value.shape)}.",
        "give an index for every dimension.",
    )


def type_error(
    ctx: FunctionContext, node: ast.AST, message: str, help: str | None = None
) -> TypeMismatchError:
    """A :class:`TypeMismatchError` at a node."""
    return TypeMismatchError(message, ctx.place(node), help=help)


_REMEDIES = {
    "Lambda": "define a nested function with annotated arguments.",
    "ListComp": "write the loop out, or compute the list outside the kernel.",
    "GeneratorExp": "write the loop out.",
    "JoinedStr": "strings exist only as names and in print.",
    "NamedExpr": "assign on a line of its own.",
    "Await": None,
    "Try": "a kernel has no exceptions.",
    "Raise": "a kernel has no exceptions.",
    "Global": "pass the variable as an argument, or make it `@ Stateful`.",
    "Nonlocal": "pass the variable as an argument, or make it `@ Stateful`.",
    "Import": "import outside the kernel.",
    "ImportFrom": "import outside the kernel.",
    "Delete": "a name ends with its block.",
    "ClassDef": "define it outside the kernel.",
    "Starred": "write the arguments out.",
    "Match": "use if / elif.",
}


def unsupported_node(ctx: FunctionContext, node: ast.AST) -> AlloError:
    """The error for syntax that has no meaning in a kernel."""
    kind = type(node).__name__
    return UnsupportedSyntaxError(
        f'Unsupported node "{kind}": it has no meaning in a kernel.',
        ctx.place(node),
        help=_REMEDIES.get(kind),
    )


def statement(ctx: FunctionContext, node: ast.stmt) -> None:
    """Elaborate one statement.

    Raises:
        UnsupportedSyntaxError: when it has no meaning in a kernel, or stands behind a ``return``.
    """
    handler = ctx.module.language.statements.get(type(node))
    if handler is None:
        raise unsupported_node(ctx, node)
    if ctx.returned is not None:
        raise ctx.unsupported(
            node,
            "This statement can never run: the function has returned.",
            "return must be the last statement.",
        )
    with foreseen("Compiling this statement", ctx.place(node), (NotConstantError,)):
        handler(ctx, node)


def statements(ctx: FunctionContext, nodes: list[ast.stmt]) -> None:
    """Elaborate a block of statements."""
    ctx.module.language.block(ctx, nodes)


def body(ctx: FunctionContext, *, is_region: bool) -> None:
    """Elaborate the body of a function, or of a region."""
    (ctx.module.language.region if is_region else ctx.module.language.function)(ctx)


def condition(ctx: FunctionContext, node: ast.expr) -> Expr:
    """A scalar as one bit."""
    return ops.truth(scalar(ctx, node))
