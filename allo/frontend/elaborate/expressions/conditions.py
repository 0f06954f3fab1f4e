"""Conditions that are affine constraints."""

from __future__ import annotations

import ast

from allo.dialects.ranges.interval import INDEX_RANGE, within
from allo.frontend.affine import Affine, constant, is_affine
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.expressions import indexing
from allo.frontend.tree import AffineCondition

Constraint = tuple[Affine, bool]


def affine_condition(ctx: FunctionContext, node: ast.expr) -> AffineCondition | None:
    """The condition as affine constraints that must all hold, or None."""
    constraints = _constraints(ctx, node)
    if not constraints or all(value.is_constant for value, _ in constraints):
        return None
    return AffineCondition(tuple(constraints))


def affine_pair(ctx: FunctionContext, node: ast.Compare, position: int) -> AffineCondition | None:
    """One comparison of a chain as affine constraints, or None."""
    left = node.comparators[position - 1] if position else node.left
    return affine_condition(
        ctx, ast.Compare(left, [node.ops[position]], [node.comparators[position]])
    )


def _constraints(ctx: FunctionContext, node: ast.expr) -> list[Constraint] | None:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return _joined([_constraints(ctx, part) for part in node.values])
    if not isinstance(node, ast.Compare):
        return None
    parts: list[list[Constraint] | None] = []
    left = _operand(ctx, node.left)
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = _operand(ctx, right_node)
        if left is None or right is None:
            return None
        parts.append(_constraint(op, left, right))
        left = right
    return _joined(parts)


def _joined(parts: list[list[Constraint] | None]) -> list[Constraint] | None:
    if any(part is None for part in parts):
        return None
    return [c for part in parts for c in part or ()]


def _operand(ctx: FunctionContext, node: ast.expr) -> Affine | None:
    value = indexing.exact_affine_of(ctx, node)
    return value if value is not None and is_affine(value) else None


def _constraint(op: ast.cmpop, left: Affine, right: Affine) -> list[Constraint] | None:
    """The constraint of a comparison; None where its difference may pass the 64 bits of an index."""
    if isinstance(op, (ast.LtE, ast.Lt)):
        left, right = right, left
    difference = left - right
    if isinstance(op, (ast.Lt, ast.Gt)):
        difference = difference - constant(1)
    elif not isinstance(op, (ast.Eq, ast.LtE, ast.GtE)):
        return None
    if not within(difference.bounds(), INDEX_RANGE):
        return None
    return [(difference, isinstance(op, ast.Eq))]
