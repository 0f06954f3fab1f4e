"""The difference of two bounds, where it is the same for every value of the variables."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..body import Body

Sum = dict[tuple[str, ...], int]
"""A polynomial: from the sorted names of a product to its coefficient."""


def difference(body: Body, lower: ast.expr, upper: ast.expr) -> int | None:
    """``upper - lower``, where that is a constant; None where it depends on variables."""
    left, right = _polynomial(body, lower), _polynomial(body, upper)
    if left is None or right is None:
        return None
    total = _added(right, left, -1)
    rest = {key: value for key, value in total.items() if value and key}
    return None if rest else total.get((), 0)


def _polynomial(body: Body, node: ast.expr) -> Sum | None:
    if body.is_known(node):
        value = body.evaluate(node, "A bound")
        return {(): int(value)} if isinstance(value, int) or hasattr(value, "__index__") else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _polynomial(body, node.operand)
        return None if inner is None else _added({}, inner, -1)
    if isinstance(node, ast.BinOp):
        left, right = _polynomial(body, node.left), _polynomial(body, node.right)
        if left is not None and right is not None:
            if isinstance(node.op, ast.Add):
                return _added(left, right, 1)
            if isinstance(node.op, ast.Sub):
                return _added(left, right, -1)
            if isinstance(node.op, ast.Mult):
                return _multiplied(left, right)
    return {(ast.dump(node),): 1}


def _added(left: Mapping[tuple[str, ...], int], right: Sum, sign: int) -> Sum:
    total = dict(left)
    for key, value in right.items():
        total[key] = total.get(key, 0) + sign * value
    return total


def _multiplied(left: Sum, right: Sum) -> Sum:
    total: Sum = {}
    for one, a in left.items():
        for other, b in right.items():
            key = tuple(sorted((*one, *other)))
            total[key] = total.get(key, 0) + a * b
    return total
