"""``if``, and the blocks of statements around which a loop is left early."""

from __future__ import annotations

import ast
from contextlib import nullcontext

from allo.frontend.elaborate import dispatch, exits
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.expressions import conditions
from allo.frontend.elaborate.statements import meta
from allo.frontend.rules import operations as ops
from allo.frontend.tree import Const, If, Stmt, Store, Var


def if_statement(ctx: FunctionContext, node: ast.If) -> None:
    """``if / elif / else``: an affine condition where possible; each branch has its own scope."""
    test = conditions.affine_condition(ctx, node.test) or dispatch.condition(ctx, node.test)
    known = bool(test.value) if isinstance(test, Const) else None
    then = _branch(ctx, node.body, runs=known is not False)
    other = _branch(ctx, node.orelse, runs=known is not True)
    if isinstance(test, Const):
        ctx.block.extend(then if test.value else other)
        return
    ctx.emit(If(ctx.place(node.test), test, then, other))


def _branch(ctx: FunctionContext, nodes: list[ast.stmt], *, runs: bool) -> list[Stmt]:
    reachable = nullcontext() if runs else ctx.unreachable()
    with ctx.scope(), ctx.into([]) as block, ctx.conditional(), ctx.guarded(), reachable:
        dispatch.statements(ctx, nodes)
    return block


def leave(ctx: FunctionContext, node: ast.Break | ast.Continue) -> None:
    """``break`` and ``continue`` set the loop's flag; what follows is guarded by it."""
    flag = ctx.loop_exits[-1].get(type(node)) if ctx.loop_exits else None
    place = ctx.place(node)
    if flag is None:
        raise ctx.unsupported(
            node,
            f"{type(node).__name__.lower()} outside a loop.",
            "it stands in a for or a while loop.",
        )
    ctx.emit(Store(place, flag, (), Const(ops.BOOL, place, 1)))


def guard_rest(
    ctx: FunctionContext, node: ast.stmt, flags: list[Var], rest: list[ast.stmt]
) -> None:
    """The statements behind one that may leave the block run only if it did not."""
    with ctx.into([]) as block, ctx.conditional(), ctx.guarded():
        dispatch.statements(ctx, rest)
    place = ctx.place(node)
    ctx.emit(If(place, exits.none_set(flags, place), block, []))


def block(ctx: FunctionContext, nodes: list[ast.stmt]) -> None:
    """Elaborate a block."""
    position = 0
    while position < len(nodes):
        start = position
        if meta.is_meta_branch(nodes[position]):
            position = meta.branch_chain(ctx, nodes, position)
        else:
            dispatch.statement(ctx, nodes[position])
            position += 1
        left = exits.flags_of(ctx, nodes[start:position])
        if left and position < len(nodes):
            guard_rest(ctx, nodes[start], left, nodes[position:])
            return
