"""How statements leave the block around them, and the flags that say so."""

from __future__ import annotations

import ast
from functools import lru_cache

from allo.dialects.diagnostics import SourcePlace
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.rules import operations as ops
from allo.frontend.tree import Binary, Const, Load, Store, Var


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
    flag = stores.new_local(ctx, name, ops.BOOL, (), place)
    ctx.emit(Store(place, flag, (), Const(ops.BOOL, place, 0)))
    return flag


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
