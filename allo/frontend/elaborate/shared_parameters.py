"""Parameters that share memory: a call passes one array, or parts of one, for several of them."""

from __future__ import annotations

import ast

from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.tree import Var

SharedParameters = frozenset[frozenset[str]]
"""Groups of parameters, by name."""


def shared_parameters(
    ctx: FunctionContext, node: ast.Call, called: ast.FunctionDef
) -> SharedParameters:
    """The parameters of a function for which a call passes one array, or parts of one.

    A function that stores an array reads the right side first, also where another parameter is the same
    memory. So such a call has an instance of its own.
    """
    names = [parameter.arg for parameter in called.args.args]
    given = dict(zip(names, node.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    groups: dict[object, set[str]] = {}
    for name, argument in given.items():
        root = _root(ctx, argument)
        if root is not None:
            groups.setdefault(root, set()).add(name)
    return frozenset(frozenset(group) for group in groups.values() if len(group) > 1)


def _root(ctx: FunctionContext, node: ast.expr) -> object | None:
    """The memory that an argument is a part of; None for what is no array."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    found = ctx.find(node.id) if isinstance(node, ast.Name) else None
    if not isinstance(found, Var) or not found.shape:
        return None
    for group in ctx.shared_parameters:
        if found.kind == "arg" and found.name in group:
            return group
    return found


def may_share(ctx: FunctionContext, one: Var, other: Var) -> bool:
    """Whether two variables may be one memory: one variable, or parameters that share theirs."""
    if one is other:
        return True
    if one.kind != "arg" or other.kind != "arg":
        return False
    return any(one.name in group and other.name in group for group in ctx.shared_parameters)
