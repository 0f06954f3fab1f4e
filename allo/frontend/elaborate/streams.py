"""Streams and process coordinates, as a kernel of a dataflow region sees them."""

from __future__ import annotations

import ast
from typing import Any

from .annotations import Declared
from .context import FunctionContext, StreamBinding


def pid_values(ctx: FunctionContext, node: ast.expr) -> tuple[int, ...] | None:
    """The coordinates ``get_pid()`` gives, or None when ``node`` is no such call."""
    is_call = isinstance(node, ast.Call) and (
        (isinstance(node.func, ast.Attribute) and node.func.attr == "get_pid")
        or (isinstance(node.func, ast.Name) and node.func.id == "get_pid")
    )
    if not is_call:
        return None
    if ctx.pid is None:
        raise ctx.unsupported(
            node, "get_pid() has a value only in a df.kernel.", "use it inside a df.region."
        )
    return ctx.pid


def assign_pid(ctx: FunctionContext, node: ast.Assign) -> bool:
    """``i, j = df.get_pid()``."""
    del ctx, node
    return False


def declare(ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared) -> None:
    """A stream declaration; streams belong to regions."""
    del name, said
    raise ctx.unsupported(node, "A stream can only be declared in a df.region.")


def kernel_definition(ctx: FunctionContext, node: ast.FunctionDef) -> bool:
    """Whether ``node`` is a df.kernel of a region (then it has been taken care of)."""
    del ctx, node
    return False


def put_statement(ctx: FunctionContext, node: ast.Call) -> bool:
    """``s.put(v)``, ``df.scatter(...)``."""
    del ctx, node
    return False


def method(ctx: FunctionContext, node: ast.Call) -> list[Any] | None:
    """``s.get()``, ``df.gather(...)``."""
    del ctx, node
    return None


__all__ = ["StreamBinding", "assign_pid", "declare", "kernel_definition", "method", "pid_values"]
