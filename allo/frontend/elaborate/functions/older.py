"""Regions written for an older dataflow interface: refused, with the line they become."""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import DataflowError
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.syntax import last_name
from allo.frontend.tree import Var


def decorator(ctx: FunctionContext, node: ast.FunctionDef, mapping: ast.expr | None) -> str:
    """The decorator of a kernel as it is written now: ``@df.kernel(mapping=[2], args=[A, B])``."""
    said = "[1]" if mapping is None else ast.unparse(mapping)
    names = [argument.arg for argument in node.args.args]
    passed = f", args=[{', '.join(names)}]" if names else ""
    return f"@df.kernel(mapping={said}{passed})"


def refuse_signature(ctx: FunctionContext, node: ast.FunctionDef, mark: ast.Call) -> None:
    """Refuse a kernel with parameters and without ``args=``.

    Raises:
        DataflowError: always.
    """
    given = {keyword.arg: keyword.value for keyword in mark.keywords}
    mapping = given.get("mapping") or next(iter(mark.args), None)
    lacking = [a for a in node.args.args if not isinstance(ctx.find_own(a.arg), Var)]
    more = ""
    if lacking:
        listed = ", ".join(ast.unparse(argument) for argument in lacking)
        more = f", and give the region the arrays: def {ctx.info.origin}({listed})"
    raise DataflowError(
        f"'args' length mismatch: df.kernel {node.name!r} has {len(node.args.args)} parameters, but "
        "args= names 0. In an older interface a kernel took arrays of its own.",
        ctx.place(mark),
        help=f"write {decorator(ctx, node, mapping)}, which names one array of the region for each "
        f"parameter{more}.",
    )


def refuse_pipe(ctx: FunctionContext, node: ast.stmt) -> None:
    """Refuse ``pipe = df.pipe(...)`` and ``pipes = df.array(df.pipe(...), shape=[2])``.

    Raises:
        DataflowError: the statement is one of these.
    """
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return
    made = _stream(node.value)
    if made is None:
        return
    raise DataflowError(
        f"df.{last_name(node.value)} is of an older dataflow interface.",
        ctx.place(node.value),
        help=f"write {ast.unparse(node.targets[0])}: {made}",
    )


def _stream(call: ast.expr) -> str | None:
    """The annotation for a call of ``df.pipe`` or ``df.array``; None for another call."""
    if not isinstance(call, ast.Call):
        return None
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if last_name(call) == "array" and call.args:
        inner = _stream(call.args[0])
        shape = given.get("shape") or (call.args[1] if len(call.args) > 1 else None)
        return None if inner is None else f"{inner}[{_listed(shape)}]"
    if last_name(call) != "pipe":
        return None
    for name, value in zip(("dtype", "shape", "depth"), call.args, strict=False):
        given[name] = value
    dtype = ast.unparse(given["dtype"]) if "dtype" in given else "float32"
    block = _listed(given.get("shape"))
    depth = ast.unparse(given["depth"]) if "depth" in given else "2"
    return f"Stream[{dtype}{f'[{block}]' if block else ''}, {depth}]"


def _listed(shape: ast.expr | None) -> str:
    if isinstance(shape, (ast.List, ast.Tuple)):
        return ", ".join(ast.unparse(extent) for extent in shape.elts)
    return "" if shape is None else ast.unparse(shape)
