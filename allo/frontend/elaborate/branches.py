"""``if``, and leaving a loop early."""

from __future__ import annotations

import ast
from functools import lru_cache

from .. import operations as ops
from ..affine import Affine, constant
from ..tree import AffineCondition, Binary, Const, If, Load, Store, Var
from . import arrays, expressions, indexing, statements
from .context import FunctionContext

Constraint = tuple[Affine, bool]


def if_statement(ctx: FunctionContext, node: ast.If) -> None:
    """``if / elif / else``: an affine condition where possible; each branch has its own scope."""
    test = affine_condition(ctx, node.test) or statements.condition(ctx, node.test)
    then = _branch(ctx, node.body)
    other = _branch(ctx, node.orelse)
    if isinstance(test, Const):
        ctx.block.extend(then if test.value else other)
        return
    ctx.emit(If(ctx.place(node.test), test, then, other))


def _branch(ctx: FunctionContext, nodes: list[ast.stmt]) -> list:
    with ctx.scope(), ctx.into([]) as block, ctx.conditional():
        statements.statements(ctx, nodes)
    return block


def affine_condition(ctx: FunctionContext, node: ast.expr) -> AffineCondition | None:
    """The condition as affine constraints that must all hold, or None."""
    constraints = _constraints(ctx, node)
    if not constraints or all(value.is_constant for value, _ in constraints):
        return None
    return AffineCondition(tuple(constraints))


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
    value = indexing.affine_of(ctx, node)
    return value if value is not None and indexing.is_affine(value) else None


def _constraint(op: ast.cmpop, left: Affine, right: Affine) -> list[Constraint] | None:
    if isinstance(op, ast.Eq):
        return [(left - right, True)]
    if isinstance(op, ast.LtE):
        return [(right - left, False)]
    if isinstance(op, ast.GtE):
        return [(left - right, False)]
    if isinstance(op, ast.Lt):
        return [(right - left - constant(1), False)]
    if isinstance(op, ast.Gt):
        return [(left - right - constant(1), False)]
    return None


# --- break and continue ----------------------------------------------------------------------


def may_leave(node: ast.AST) -> bool:
    """Whether a statement may ``break`` or ``continue`` the loop around it."""
    return bool(exits(node))


@lru_cache(maxsize=8192)
def exits(node: ast.AST) -> frozenset[type]:
    """The kinds of exits (Break, Continue) of the enclosing loop inside a statement."""
    if isinstance(node, (ast.Break, ast.Continue)):
        return frozenset((type(node),))
    if not isinstance(node, (ast.If, ast.With)):
        return frozenset()
    inside = [*node.body, *getattr(node, "orelse", ())]
    return frozenset().union(*(exits(child) for child in inside))


def body_exits(nodes: list[ast.stmt]) -> frozenset[type]:
    """The kinds of exits of a loop with this body."""
    return frozenset().union(*(exits(node) for node in nodes))


def new_flag(ctx: FunctionContext, name: str, node: ast.AST) -> Var:
    """A one-bit local, cleared here."""
    place = ctx.place(node)
    flag = arrays.new_local(ctx, name, ops.BOOL, (), place)
    ctx.emit(Store(place, flag, (), Const(ops.BOOL, place, 0)))
    return flag


def leave(ctx: FunctionContext, node: ast.Break | ast.Continue) -> None:
    """``break`` and ``continue`` set the loop's flag; what follows is guarded by it."""
    if not ctx.loop_exits:
        word = type(node).__name__.lower()
        raise ctx.unsupported(node, f"{word!r} outside a loop.")
    flags = ctx.loop_exits[-1]
    place = ctx.place(node)
    flag = flags.get(type(node))
    if flag is None:
        raise expressions.unsupported_node(ctx, node)
    ctx.emit(Store(place, flag, (), Const(ops.BOOL, place, 1)))


def guard_rest(ctx: FunctionContext, node: ast.stmt, rest: list[ast.stmt]) -> None:
    """The statements after one that may leave the loop run only if it did not."""
    flags = ctx.loop_exits[-1] if ctx.loop_exits else {}
    used = [flags[kind] for kind in sorted(exits(node), key=lambda k: k.__name__) if kind in flags]
    if not used:
        return
    place = ctx.place(node)
    with ctx.into([]) as block, ctx.conditional():
        statements.statements(ctx, rest)
    ctx.emit(If(place, none_set(used, place), block, []))


def none_set(flags: list[Var], place) -> Binary:
    """That no flag is set, as one bit."""
    total = None
    for flag in flags:
        clear = Binary(
            ops.BOOL, place, "^", Load(ops.BOOL, place, flag, ()), Const(ops.BOOL, place, 1)
        )
        total = clear if total is None else Binary(ops.BOOL, place, "&", total, clear)
    assert total is not None
    return total
