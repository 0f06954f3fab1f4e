"""Affine maps with their operands: reading, substituting and rebuilding the operations that hold them.

An affine operation holds one or two groups of operands, each read through a map (or an integer
set). :func:`replace_index` replaces an index value by an affine expression of others in every
group that uses it, in place where the operand count allows and by rebuilding the operation
otherwise. Non-affine users get an ``affine.apply``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._mlir import ir

_EXPR_LIMIT = "an affine expression of a kind this version of MLIR does not have"


@dataclass(frozen=True, slots=True)
class BoundMap:
    """An affine map applied to operands: dims first, then symbols, as MLIR orders them."""

    map: ir.AffineMap
    operands: tuple[ir.Value, ...]

    @property
    def dims(self) -> tuple[ir.Value, ...]:
        return self.operands[: self.map.n_dims]

    @property
    def symbols(self) -> tuple[ir.Value, ...]:
        return self.operands[self.map.n_dims :]

    @property
    def results(self) -> list[ir.AffineExpr]:
        return list(self.map.results)

    def constant(self) -> int | None:
        """The single constant the map yields, or None."""
        results = self.map.results
        if len(results) == 1 and isinstance(results[0], ir.AffineConstantExpr):
            return results[0].value
        return None


def constant_map(value: int) -> BoundMap:
    """The map ``() -> (value)``."""
    return BoundMap(ir.AffineMap.get_constant(value), ())


def identity_map(values: Sequence[ir.Value]) -> BoundMap:
    """The map that reads the given index values one by one."""
    return BoundMap(ir.AffineMap.get_identity(len(values)), tuple(values))


def expression_parts(expr: ir.AffineExpr) -> tuple[str, ir.AffineExpr, ir.AffineExpr] | None:
    """(operator, left, right) of a binary expression; None for dims, symbols and constants."""
    if isinstance(expr, ir.AffineAddExpr):
        return "+", expr.lhs, expr.rhs
    if isinstance(expr, ir.AffineMulExpr):
        return "*", expr.lhs, expr.rhs
    if isinstance(expr, ir.AffineModExpr):
        return "mod", expr.lhs, expr.rhs
    if isinstance(expr, ir.AffineFloorDivExpr):
        return "floordiv", expr.lhs, expr.rhs
    if isinstance(expr, ir.AffineCeilDivExpr):
        return "ceildiv", expr.lhs, expr.rhs
    return None


def rebuild_expression(
    expr: ir.AffineExpr,
    leaf: Callable[[ir.AffineExpr], ir.AffineExpr],
) -> ir.AffineExpr:
    """``expr`` with each dim and symbol replaced by ``leaf(it)``."""
    if isinstance(expr, (ir.AffineDimExpr, ir.AffineSymbolExpr)):
        return leaf(expr)
    parts = expression_parts(expr)
    if parts is None:
        return expr
    operator, left, right = parts
    a, b = rebuild_expression(left, leaf), rebuild_expression(right, leaf)
    if operator == "+":
        return ir.AffineExpr.get_add(a, b)
    if operator == "*":
        return ir.AffineExpr.get_mul(a, b)
    if operator == "mod":
        return ir.AffineExpr.get_mod(a, b)
    if operator == "floordiv":
        return ir.AffineExpr.get_floor_div(a, b)
    return ir.AffineExpr.get_ceil_div(a, b)


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
}
"""What the operators of affine expressions compute."""


def evaluate(expr: ir.AffineExpr, dims: Sequence[int], symbols: Sequence[int] = ()) -> int:
    """The value of an affine expression at integer dims and symbols."""
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value
    if isinstance(expr, ir.AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return symbols[expr.position]
    parts = expression_parts(expr)
    if parts is None:
        raise TypeError(f"{expr} is {_EXPR_LIMIT}")
    operator, left, right = parts
    return OPERATORS[operator](evaluate(left, dims, symbols), evaluate(right, dims, symbols))


def linear_form(expr: ir.AffineExpr, count: int) -> tuple[list[int], int] | None:
    """(coefficients of the first ``count`` inputs, constant), dims then symbols; None if not linear.

    ``count`` is the number of dims; symbols make the form None.
    """
    if isinstance(expr, ir.AffineConstantExpr):
        return [0] * count, expr.value
    if isinstance(expr, ir.AffineDimExpr):
        coefficients = [0] * count
        coefficients[expr.position] = 1
        return coefficients, 0
    parts = expression_parts(expr)
    if parts is None or parts[0] not in "+*":
        return None
    left, right = linear_form(parts[1], count), linear_form(parts[2], count)
    if left is None or right is None:
        return None
    if parts[0] == "+":
        return [a + b for a, b in zip(left[0], right[0], strict=True)], left[1] + right[1]
    if any(right[0]):
        left, right = right, left
    if any(right[0]):
        return None
    return [a * right[1] for a in left[0]], left[1] * right[1]


# --- operand groups of the affine operations -----------------------------------------


@dataclass(frozen=True, slots=True)
class Group:
    """Where an operation keeps one map and its operands."""

    attribute: str
    start: int
    count: int


_SINGLE_GROUP = {
    "affine.load": ("map", 1),
    "affine.store": ("map", 2),
    "affine.apply": ("map", 0),
    "affine.min": ("map", 0),
    "affine.max": ("map", 0),
    "affine.if": ("condition", 0),
}


def groups_of(op: ir.Operation) -> tuple[Group, ...]:
    """The map groups of an operation; empty for operations that are not affine."""
    single = _SINGLE_GROUP.get(op.name)
    if single is not None:
        return (Group(single[0], single[1], len(op.operands) - single[1]),)
    if op.name != "affine.for":
        return ()
    lower, upper, _ = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return (Group("lowerBoundMap", 0, lower), Group("upperBoundMap", lower, upper))


def bound_map(op: ir.Operation | ir.OpView, attribute: str = "map") -> BoundMap:
    """The map of an affine operation with its operands."""
    operation = op.operation
    for group in groups_of(operation):
        if group.attribute == attribute:
            operands = list(operation.operands)[group.start : group.start + group.count]
            return BoundMap(operation.attributes[attribute].value, tuple(operands))
    raise KeyError(f"{operation.name} has no map {attribute!r}")


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
    stack = list(exprs)
    while stack:
        expr = stack.pop()
        if isinstance(expr, ir.AffineDimExpr):
            dims.add(expr.position)
        elif isinstance(expr, ir.AffineSymbolExpr):
            symbols.add(expr.position)
        elif parts := expression_parts(expr):
            stack += parts[1:]
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


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of an ``affine.if``: every expression is >= 0, or == 0 where ``equal`` says so."""

    exprs: BoundMap
    equal: tuple[bool, ...]

    def attribute(self) -> ir.IntegerSetAttr:
        bound = self.exprs.map
        made = ir.IntegerSet.get(
            bound.n_dims, bound.n_symbols, list(bound.results), list(self.equal)
        )
        return ir.IntegerSetAttr.get(made)


_SET = re.compile(r"affine_set<(?P<inputs>\(.*?\)(?:\[.*?\])?) : \((?P<rows>.*)\)>\Z")


def condition_of(op: ir.Operation | ir.OpView) -> Condition:
    """The condition of an ``affine.if`` with its operands.

    The bindings give no access to the set inside the attribute, so its text is read.
    """
    operation = op.operation
    match = _SET.match(str(operation.attributes["condition"]))
    if match is None:
        raise TypeError(f"unreadable condition {operation.attributes['condition']}")
    exprs, equal = [], []
    for row in _split_rows(match["rows"]):
        text, kind = row.rsplit(" ", 2)[0], row.rsplit(" ", 2)[1]
        exprs.append(text)
        equal.append(kind == "==")
    as_map = ir.AffineMapAttr(
        ir.Attribute.parse(f"affine_map<{match['inputs']} -> ({', '.join(exprs)})>")
    ).value
    return Condition(BoundMap(as_map, tuple(operation.operands)), tuple(equal))


def _split_rows(text: str) -> list[str]:
    rows, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            rows.append(text[start:position].strip())
            start = position + 1
    return [*rows, text[start:].strip()]


# --- rewriting operations ---------------------------------------------------------------


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
    made at the head of the innermost block where all operands of ``new`` are visible.
    """
    applied: ir.Value | None = None
    for user in _users(old):
        groups = groups_of(user)
        inside = _group_positions(groups)
        direct = [
            use.operand_number
            for use in old.uses
            if use.owner.operation == user and use.operand_number not in inside
        ]
        for position in direct:
            applied = applied or _apply_at_head(old, new, user)
            user.operands[position] = applied
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


def _apply_at_head(old: ir.Value, new: BoundMap, user: ir.Operation) -> ir.Value:
    results = new.map.results
    if len(new.operands) == 1 and isinstance(results[0], (ir.AffineDimExpr, ir.AffineSymbolExpr)):
        return new.operands[0]
    block = _innermost_block([*new.operands, old], user)
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


def _innermost_block(values: Sequence[ir.Value], user: ir.Operation) -> ir.Block:
    """Of the blocks around ``user``, the innermost that defines one of the values.

    A loop that is about to go defines one too, and no longer holds the user.
    """
    blocks = [v.owner if isinstance(v, ir.BlockArgument) else v.owner.block for v in values]
    return max((block for block in blocks if _holds(block, user)), key=_depth)


def _holds(block: ir.Block, op: ir.Operation) -> bool:
    parent = op.parent
    return parent is not None and (op.block == block or _holds(block, parent.operation))


def _depth(block: ir.Block) -> int:
    depth = 0
    owner = block.owner
    while owner is not None and owner.operation.parent is not None:
        depth += 1
        owner = owner.operation.parent
    return depth
