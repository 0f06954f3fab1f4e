"""Replacing index values by affine expressions in the operations that use them.

:func:`replace_index` replaces an index value by an affine expression of others in every group of
operands that uses it, in place where the operand count allows and by rebuilding the operation
otherwise. Users that are not affine get an ``affine.apply``.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._mlir import ir
from ..core.expressions import leaves_of, rebuild_expression
from .maps import BoundMap, Condition, Group, bound_map, condition_of, groups_of


def simplify(bound: BoundMap) -> BoundMap:
    """The same map with repeated operands merged and unused ones dropped."""
    used_dims, used_symbols = _used(bound.map.results)
    dims, dim_of = _compact(bound.dims, used_dims)
    symbols, symbol_of = _compact(bound.symbols, used_symbols)
    dim_exprs = [ir.AffineExpr.get_dim(p) if p >= 0 else None for p in dim_of]
    symbol_exprs = [ir.AffineExpr.get_symbol(p) if p >= 0 else None for p in symbol_of]

    def leaf(expr: ir.AffineExpr) -> ir.AffineExpr:
        table = dim_exprs if isinstance(expr, ir.AffineDimExpr) else symbol_exprs
        found = table[expr.position]
        return expr if found is None else found

    results = [
        ir.AffineExpr.simplify_affine_expr(rebuild_expression(expr, leaf), len(dims), len(symbols))
        for expr in bound.map.results
    ]
    return BoundMap(ir.AffineMap.get(len(dims), len(symbols), results), (*dims, *symbols))


def _used(exprs: Sequence[ir.AffineExpr]) -> tuple[set[int], set[int]]:
    dims: set[int] = set()
    symbols: set[int] = set()
    for leaf in (leaf for expr in exprs for leaf in leaves_of(expr)):
        if isinstance(leaf, ir.AffineDimExpr):
            dims.add(leaf.position)
        elif isinstance(leaf, ir.AffineSymbolExpr):
            symbols.add(leaf.position)
    return dims, symbols


def _compact(operands: Sequence[ir.Value], used: set[int]) -> tuple[list[ir.Value], list[int]]:
    kept: list[ir.Value] = []
    position_of: list[int] = []
    for position, value in enumerate(operands):
        if position not in used:
            position_of.append(-1)
            continue
        if value not in kept:
            kept.append(value)
        position_of.append(kept.index(value))
    return kept, position_of


def substitute(bound: BoundMap, old: ir.Value, new: BoundMap) -> BoundMap:
    """``bound`` with operand ``old`` replaced by the one expression of ``new``."""
    shift_dims, shift_symbols = bound.map.n_dims, bound.map.n_symbols
    replacement = rebuild_expression(
        new.map.results[0],
        lambda e: (
            ir.AffineExpr.get_dim(e.position + shift_dims)
            if isinstance(e, ir.AffineDimExpr)
            else ir.AffineExpr.get_symbol(e.position + shift_symbols)
        ),
    )
    dims, symbols = bound.dims, bound.symbols

    def leaf(expr: ir.AffineExpr) -> ir.AffineExpr:
        table = dims if isinstance(expr, ir.AffineDimExpr) else symbols
        return replacement if table[expr.position] == old else expr

    results = [rebuild_expression(expr, leaf) for expr in bound.map.results]
    joined = ir.AffineMap.get(
        shift_dims + new.map.n_dims, shift_symbols + new.map.n_symbols, results
    )
    return simplify(BoundMap(joined, (*dims, *new.dims, *symbols, *new.symbols)))


def rebuild(
    op: ir.Operation,
    operands: Sequence[ir.Value],
    attributes: dict[str, ir.Attribute],
) -> ir.Operation:
    """Replace ``op`` by one with other operands and changed attributes; regions move over."""
    merged = {name: op.attributes[name] for name in op.attributes} | attributes
    new = ir.Operation.create(
        op.name,
        results=[r.type for r in op.results],
        operands=list(operands),
        attributes=merged,
        regions=len(op.regions),
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    for old_region, new_region in zip(op.regions, new.regions, strict=True):
        for block in list(old_region.blocks):
            block.append_to(new_region)
    for old_result, new_result in zip(op.results, new.results, strict=True):
        old_result.replace_all_uses_with(new_result)
    op.erase()
    return new


def with_maps(op: ir.Operation, changed: dict[str, BoundMap]) -> ir.Operation:
    """Give an affine operation other maps; the operation is rebuilt when operand counts change."""
    operands = list(op.operands)
    attributes: dict[str, ir.Attribute] = {}
    out: list[ir.Value] = []
    cursor = 0
    counts = []
    for group in groups_of(op):
        out += operands[cursor : group.start]
        cursor = group.start + group.count
        bound = changed.get(group.attribute)
        if bound is None:
            out += operands[group.start : cursor]
            counts.append(group.count)
            continue
        out += bound.operands
        counts.append(len(bound.operands))
        attributes[group.attribute] = ir.AffineMapAttr.get(bound.map)
    out += operands[cursor:]
    return _store_operands(op, operands, out, attributes, counts)


def _store_operands(
    op: ir.Operation,
    before: Sequence[ir.Value],
    after: Sequence[ir.Value],
    attributes: dict[str, ir.Attribute],
    counts: Sequence[int],
) -> ir.Operation:
    if op.name == "affine.for":
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([*counts, 0])
    if len(after) != len(before):
        return rebuild(op, after, attributes)
    for name, attribute in attributes.items():
        op.attributes[name] = attribute
    for position, value in enumerate(after):
        if value != before[position]:
            op.operands[position] = value
    return op


def replace_index(old: ir.Value, new: BoundMap) -> None:
    """Replace every use of the index value ``old`` by the affine expression ``new``.

    Affine operations take the expression into their maps; for the others one ``affine.apply`` is
    made at the head of each block that uses it, so that a perfect nest stays one.
    """
    applied: dict[ir.Block, ir.Value] = {}
    for user in _users(old):
        groups = groups_of(user)
        inside = _group_positions(groups)
        direct = [
            use.operand_number
            for use in old.uses
            if use.owner.operation == user and use.operand_number not in inside
        ]
        for position in direct:
            if user.block not in applied:
                applied[user.block] = _apply_at_head(new, user.block)
            user.operands[position] = applied[user.block]
        if groups:
            _replace_in_groups(user, groups, old, new)


def _users(value: ir.Value) -> list[ir.Operation]:
    found: list[ir.Operation] = []
    for use in value.uses:
        operation = use.owner.operation
        if operation not in found:
            found.append(operation)
    return found


def _group_positions(groups: Sequence[Group]) -> set[int]:
    return {p for g in groups for p in range(g.start, g.start + g.count)}


def _replace_in_groups(
    user: ir.Operation, groups: Sequence[Group], old: ir.Value, new: BoundMap
) -> None:
    if user.name == "affine.if":
        condition = condition_of(user)
        exprs = substitute(condition.exprs, old, new)
        attribute = Condition(exprs, condition.equal).attribute()
        before = list(user.operands)
        _store_operands(user, before, exprs.operands, {"condition": attribute}, ())
        return
    changed = {}
    for group in groups:
        bound = bound_map(user, group.attribute)
        if old in bound.operands:
            changed[group.attribute] = substitute(bound, old, new)
    if changed:
        with_maps(user, changed)


def _apply_at_head(new: BoundMap, block: ir.Block) -> ir.Value:
    results = new.map.results
    if len(new.operands) == 1 and isinstance(results[0], (ir.AffineDimExpr, ir.AffineSymbolExpr)):
        return new.operands[0]
    owner = block.owner
    index = ir.IndexType.get()
    if not new.operands and isinstance(results[0], ir.AffineConstantExpr):
        made = ir.Operation.create(
            "arith.constant",
            results=[index],
            attributes={"value": ir.IntegerAttr.get(index, results[0].value)},
            loc=owner.location,
            ip=ir.InsertionPoint.at_block_begin(block),
        )
        return made.result
    made = ir.Operation.create(
        "affine.apply",
        results=[index],
        operands=list(new.operands),
        attributes={"map": ir.AffineMapAttr.get(new.map)},
        loc=owner.location,
        ip=ir.InsertionPoint.at_block_begin(block),
    )
    return made.result
