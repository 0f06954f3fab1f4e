"""Parameters that share memory: a call passes one array, or parts of one, for several of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.tree import Argument, Var, View

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
    parts: dict[object, list[tuple[str, int | None]]] = {}
    for name, argument in given.items():
        found = _array_behind(ctx, argument)
        if found is not None:
            parts.setdefault(found[0], []).append((name, found[1]))
    groups = [group for passed in parts.values() for group in _overlapping(passed)]
    return frozenset(group for group in groups if len(group) > 1)


def _overlapping(passed: list[tuple[str, int | None]]) -> list[frozenset[str]]:
    """Parameters by the row of the array that they are given; all together where a row is not known."""
    if any(row is None for _, row in passed):
        return [frozenset(name for name, _ in passed)]
    rows = {row for _, row in passed}
    return [frozenset(name for name, own in passed if own == row) for row in rows]


def _array_behind(ctx: FunctionContext, node: ast.expr) -> tuple[object, int | None] | None:
    """The memory of which an argument is a part, and the row of it; None for what is no array.

    The row is the first subscript where that is a number.
    """
    subscripts: list[ast.expr] = []
    attributes = False
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        attributes = attributes or isinstance(node, ast.Attribute)
        if isinstance(node, ast.Subscript):
            last = node.slice
            subscripts = [*(last.elts if isinstance(last, ast.Tuple) else [last]), *subscripts]
        node = node.value
    found = ctx.find(node.id) if isinstance(node, ast.Name) else None
    if not isinstance(found, Var) or not found.shape:
        return None
    if sum(not _is_part(s) for s in subscripts) >= len(found.shape):
        return None
    row = _number(subscripts[0]) if subscripts and not attributes else None
    for group in ctx.shared_parameters:
        if found.kind == "arg" and found.name in group:
            return group, None
    return found, row


def _is_part(node: ast.expr) -> bool:
    """Whether a subscript keeps dimensions: a slice, or the ellipsis."""
    return isinstance(node, ast.Slice) or (
        isinstance(node, ast.Constant) and node.value is Ellipsis
    )


def _number(node: ast.expr) -> int | None:
    """A subscript that is written as a number from 0 up."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def written_arguments(
    ctx: FunctionContext, callee: str, arguments: Sequence[Argument]
) -> Iterator[Var]:
    """The arrays among the arguments of a call that the function writes; all of one in C++."""
    function = ctx.module.trees.get(callee)
    for position, argument in enumerate(arguments):
        var = argument.var if isinstance(argument, View) else argument
        if not isinstance(var, Var):
            continue
        if function is None or function.params[position] in function.written:
            yield var


def may_share(ctx: FunctionContext, one: Var, other: Var) -> bool:
    """Whether two variables may be one memory: one variable, or parameters that share theirs."""
    if one is other:
        return True
    if one.kind != "arg" or other.kind != "arg":
        return False
    return any(one.name in group and other.name in group for group in ctx.shared_parameters)
