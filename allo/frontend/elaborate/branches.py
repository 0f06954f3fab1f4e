"""``if``, and leaving a loop early."""

from __future__ import annotations

import ast
from contextlib import nullcontext
from functools import lru_cache

from allo.dialects.diagnostics import SourcePlace

from ..affine import Affine, constant
from ..rules import operations as ops
from ..rules.integers import INDEX_RANGE, within
from ..tree import AffineCondition, Binary, Const, If, Load, Store, Var
from . import indexing, statements
from .arrays import lazy as arrays
from .context import FunctionContext

Constraint = tuple[Affine, bool]


def if_statement(ctx: FunctionContext, node: ast.If) -> None:
    """``if / elif / else``: an affine condition where possible; each branch has its own scope."""
    test = affine_condition(ctx, node.test) or statements.condition(ctx, node.test)
    known = bool(test.value) if isinstance(test, Const) else None
    then = _branch(ctx, node.body, runs=known is not False)
    other = _branch(ctx, node.orelse, runs=known is not True)
    if isinstance(test, Const):
        ctx.block.extend(then if test.value else other)
        return
    ctx.emit(If(ctx.place(node.test), test, then, other))


def _branch(ctx: FunctionContext, nodes: list[ast.stmt], *, runs: bool) -> list:
    reachable = nullcontext() if runs else ctx.unreachable()
    with ctx.scope(), ctx.into([]) as block, ctx.conditional(), ctx.guarded(), reachable:
        statements.statements(ctx, nodes)
    return block


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
    return value if value is not None and indexing.is_affine(value) else None


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


# --- break, continue, early return -------------------------------------------------------------


@lru_cache(maxsize=1024)
def exits(node: ast.AST) -> frozenset[type]:
    """How a statement may leave the block around it: Break and Continue, or Return."""
    if isinstance(node, (ast.Break, ast.Continue, ast.Return)):
        return frozenset((type(node),))
    if isinstance(node, (ast.For, ast.While)):
        return body_exits(node.body) & {ast.Return}
    if not isinstance(node, (ast.If, ast.With)):
        return frozenset()
    return body_exits([*node.body, *getattr(node, "orelse", ())])


def body_exits(nodes: list[ast.stmt]) -> frozenset[type]:
    """The kinds of exits in a block."""
    return frozenset[type]().union(*(exits(node) for node in nodes))


def flags_of(ctx: FunctionContext, nodes: list[ast.stmt]) -> list[Var]:
    """The flags that tell whether these statements left the block around them."""
    if not ctx.loop_exits:
        return []
    flags, kinds = ctx.loop_exits[-1], body_exits(nodes)
    return [flag for kind, flag in flags.items() if kind in kinds]


def new_flag(ctx: FunctionContext, name: str, node: ast.AST) -> Var:
    """A one-bit local, cleared here."""
    place = ctx.place(node)
    flag = arrays.new_local(ctx, name, ops.BOOL, (), place)
    ctx.emit(Store(place, flag, (), Const(ops.BOOL, place, 0)))
    return flag


def leave(ctx: FunctionContext, node: ast.Break | ast.Continue) -> None:
    """``break`` and ``continue`` set the loop's flag; what follows is guarded by it."""
    flag = ctx.loop_exits[-1].get(type(node)) if ctx.loop_exits else None
    place = ctx.place(node)
    if flag is None:
        raise ctx.unsupported(node, f"{type(node).__name__.lower()} outside a loop.")
    ctx.emit(Store(place, flag, (), Const(ops.BOOL, place, 1)))


def guard_rest(
    ctx: FunctionContext, node: ast.stmt, flags: list[Var], rest: list[ast.stmt]
) -> None:
    """The statements behind one that may leave the block run only if it did not."""
    with ctx.into([]) as block, ctx.conditional(), ctx.guarded():
        statements.statements(ctx, rest)
    place = ctx.place(node)
    ctx.emit(If(place, none_set(flags, place), block, []))


def none_set(flags: list[Var], place: SourcePlace) -> Binary:
    """That no flag is set, as one bit."""
    total = None
    for flag in flags:
        clear = Binary(
            ops.BOOL, place, "^", Load(ops.BOOL, place, flag, ()), Const(ops.BOOL, place, 1)
        )
        total = clear if total is None else Binary(ops.BOOL, place, "&", total, clear)
    assert total is not None
    return total
