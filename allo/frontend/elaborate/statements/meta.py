"""``with allo.meta_if`` and ``meta_for``: choices and repetition while compiling."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from allo.dialects.diagnostics import CompileTimeError
from allo.frontend.elaborate import dispatch, exits
from allo.frontend.elaborate.context import ConstBinding, FunctionContext, as_int
from allo.frontend.syntax import last_name

_BRANCHES = ("meta_if", "meta_elif", "meta_else")


def _call(node: ast.stmt) -> ast.Call | None:
    """The single call of a ``with`` statement."""
    if not isinstance(node, ast.With) or len(node.items) != 1:
        return None
    call = node.items[0].context_expr
    return call if isinstance(call, ast.Call) else None


def _name(node: ast.stmt) -> str:
    call = _call(node)
    return "" if call is None else last_name(call)


def is_meta_branch(node: ast.stmt) -> bool:
    """Whether a statement is a meta_if, meta_elif or meta_else."""
    return _name(node) in _BRANCHES


Build = Callable[[FunctionContext, list[ast.stmt]], None]
"""Elaborates the statements of a block: those of a function, or those of a region."""


def branch_chain(
    ctx: FunctionContext,
    nodes: list[ast.stmt],
    position: int,
    build: Build = dispatch.statements,
) -> int:
    """Build the taken branch of a chain that starts here; return where it ends."""
    first = _name(nodes[position])
    if first != "meta_if":
        raise ctx.unsupported(
            nodes[position],
            f"Unmatched allo.{first}(): no meta_if stands before it.",
            "meta_elif and meta_else follow a meta_if directly.",
        )
    start, taken = position, False
    while position < len(nodes):
        node = nodes[position]
        name = _name(node)
        if name not in _BRANCHES or (name == "meta_if" and position > start):
            break
        assert isinstance(node, ast.With)
        if not taken and _condition(ctx, node, name):
            taken = True
            with ctx.scope():
                build(ctx, node.body)
        position += 1
        if name == "meta_else":
            break
    return position


def _condition(ctx: FunctionContext, node: ast.With, name: str) -> bool:
    call = _call(node)
    assert call is not None
    if name == "meta_else":
        if call.args:
            raise ctx.unsupported(
                call, "meta_else() takes no condition.", "write with allo.meta_else():"
            )
        return True
    if len(call.args) != 1:
        raise ctx.unsupported(
            call, f"{name} takes one condition.", "write with allo.meta_if(N > 4):"
        )
    return bool(ctx.constant(call.args[0], f"The condition of {name}"))


def with_statement(ctx: FunctionContext, node: ast.With) -> None:
    """``with allo.meta_for(...) as i``; of several items, each stands inside the one before it."""
    for body in repetitions(ctx, node):
        dispatch.statements(ctx, body)


def repetitions(ctx: FunctionContext, node: ast.With) -> Iterator[list[ast.stmt]]:
    """The body of a ``meta_for`` once for each value of its variable, in a scope where it has it."""
    if len(node.items) > 1:
        inner = ast.copy_location(ast.With(node.items[1:], node.body), node)
        node = ast.copy_location(ast.With(node.items[:1], [inner]), node)
    call = _call(node)
    if call is None or _name(node) != "meta_for":
        raise ctx.unsupported(
            node.items[0].context_expr,
            f"Unsupported meta function {ast.unparse(node.items[0].context_expr)}.",
            "with is for allo.meta_if, meta_elif, meta_else and meta_for.",
        )
    if not 1 <= len(call.args) <= 3:
        raise ctx.unsupported(
            call, "meta_for takes one to three arguments.", "write with allo.meta_for(0, N) as i:"
        )
    if exits.body_exits(node.body):
        raise ctx.unsupported(
            node.items[0].context_expr,
            "break, continue and return cannot leave a meta_for.",
            "guard the statements with an if.",
        )
    bounds = [ctx.constant(a, "A bound of meta_for") for a in call.args]
    numbers = [as_int(b) for b in bounds]
    if None in numbers:
        raise CompileTimeError(
            "The bounds of meta_for must be integers.",
            ctx.place(call),
            help="use numbers that are known while compiling.",
        )
    if len(numbers) == 3 and numbers[2] == 0:
        raise CompileTimeError(
            "The step of meta_for must not be zero.",
            ctx.place(call.args[2]),
            help="a step of 1 is the default; a negative one counts down.",
        )
    variable = node.items[0].optional_vars
    if variable is not None and not isinstance(variable, ast.Name):
        raise dispatch.unsupported_node(ctx, variable)
    if variable is not None and ctx.find_own(variable.id) is not None and variable.id != "_":
        raise ctx.unsupported(
            variable,
            f"The name {variable.id!r} is already in use. "
            "Please choose a different name for the loop iterator.",
            "rename the iterator, or the variable.",
        )
    for value in range(*[n for n in numbers if n is not None]):
        with ctx.scope():
            if variable is not None:
                ctx.bind(variable.id, ConstBinding(value))
            yield node.body
