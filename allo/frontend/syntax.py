"""Questions about Python's syntax alone."""

from __future__ import annotations

import ast


def last_name(node: ast.AST) -> str:
    """The last part of the name that a node is or calls: ``get`` of ``pipe.get()``; else ``""``."""
    func = node.func if isinstance(node, ast.Call) else node
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def flatten(node: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    """``A[i, j][k]`` as its base and the list of subscripts ``i, j, k``."""
    items: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        part = node.slice
        items[:0] = part.elts if isinstance(part, ast.Tuple) else [part]
        node = node.value
    return node, items


def is_none(node: ast.expr | None) -> bool:
    """Whether nothing is written, or ``None``."""
    return node is None or (isinstance(node, ast.Constant) and node.value is None)
