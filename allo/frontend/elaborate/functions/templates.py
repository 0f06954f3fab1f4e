"""What stands in the brackets of a call: template arguments, a tuple of them behind a star, and a name."""

from __future__ import annotations

import ast
from typing import Any

from allo.dialects.diagnostics import CompileTimeError
from allo.frontend.elaborate.context import FunctionContext, NestedFunction


def template_values(
    ctx: FunctionContext, template: ast.expr | None
) -> tuple[tuple[Any, ...], str | None]:
    """The template arguments of a call, and the name that it gives to the instance."""
    if template is None:
        return (), None
    nodes = template.elts if isinstance(template, ast.Tuple) else [template]
    values: list[Any] = []
    instance_id = None
    for node in nodes:
        given = (
            _starred(ctx, node) if isinstance(node, ast.Starred) else [_template_value(ctx, node)]
        )
        for value in given:
            if isinstance(value, str):
                instance_id = value
            else:
                values.append(value)
    return tuple(values), instance_id


def _starred(ctx: FunctionContext, node: ast.Starred) -> list[Any]:
    """The values of ``*sizes`` among template arguments."""
    values = ctx.constant(node.value, "Template arguments behind a star")
    if isinstance(values, (tuple, list)):
        return list(values)
    raise CompileTimeError(
        f"{ast.unparse(node)} stands for no template arguments: it is {values!r}, and no tuple.",
        ctx.place(node),
        help="a star stands before a tuple of values, one for each template parameter.",
    )


def _template_value(ctx: FunctionContext, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        found = ctx.find(node.id)
        if isinstance(found, NestedFunction):
            return found
    return ctx.constant(node, "A template argument")
