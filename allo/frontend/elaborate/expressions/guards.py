"""What Python would not evaluate is not evaluated: ``and``, ``or``, ``x if c else y``, ``a < b < c``.

An operand that is arithmetic on values at hand, or reads arrays surely inside their bounds, is computed
beside the others and chosen from: hardware takes one multiplexer for it. An operand that calls, gets
from a FIFO or may read outside an array becomes statements under an ``if`` that leave its value in a
local variable.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from allo.dialects.diagnostics import SourcePlace
from allo.frontend.affine import constant
from allo.frontend.checks import spans
from allo.frontend.elaborate import dispatch, exits
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value, View
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.expressions import conditions, operators
from allo.frontend.elaborate.expressions.order import ordered_pair, reads_storage
from allo.frontend.rules import operations as ops
from allo.frontend.tree import AffineCondition, Const, Expr, If, Load, Stmt, Store, Var


@dataclass(slots=True)
class Operand:
    """An operand as elaborated by itself.

    Attributes:
        block: the statements that its value needs.
        plain: whether evaluating it where it need not be has no effect and does no harm.
    """

    value: Value
    block: list[Stmt] = field(default_factory=list)
    plain: bool = True


def operand(ctx: FunctionContext, node: ast.expr, *, runs: bool = True) -> Operand:
    """An operand that may not be evaluated, elaborated into a block of its own.

    ``runs`` is False where it never is: its type counts, its subscripts do not.
    """
    reachable = nullcontext() if runs else ctx.unreachable()
    with ctx.into([]) as block, ctx.conditional(), ctx.guarded(), reachable:
        value = dispatch.expression(ctx, node)
    return Operand(value, block, not block and not _may_fault(value))


def _may_fault(value: Value) -> bool:
    if isinstance(value, ArrayValue):
        return any(_may_leave(leaf) for leaf in value.leaves())
    return spans.may_fault(value)


def _may_leave(view: View) -> bool:
    """Whether some element of a view may lie outside its variable."""
    if view.is_whole:
        return False
    ends = (0, 1)
    corners = [tuple(constant(end * (n - 1)) for n in view.shape) for end in ends]
    return not all(spans.all_inside(view.var, view.subscripts(corner)) for corner in corners)


@dataclass(slots=True)
class Bit:
    """One operand of ``and`` or ``or`` as a bit; ``condition`` says it in affine constraints, if it can."""

    value: Expr
    block: list[Stmt] = field(default_factory=list)
    plain: bool = True
    condition: AffineCondition | None = None


# --- and, or ---------------------------------------------------------------------------------


def logic(ctx: FunctionContext, node: ast.BoolOp) -> Expr:
    """``a and b and …`` or ``a or b or …``, from left to right and no further than needed."""
    op = "and" if isinstance(node.op, ast.And) else "or"
    first = ops.truth(dispatch.scalar(ctx, node.values[0]))
    bits = [Bit(first, condition=conditions.affine_condition(ctx, node.values[0]))]
    decided = _decides(op, first)
    for part in node.values[1:]:
        bit = _bit(ctx, part, runs=not decided)
        if not decided:
            bits.append(bit)
        decided = decided or _decides(op, bit.value)
    return ops.cast(_joined(ctx, op, bits, ctx.place(node)), ctx.rules.logic)


def _bit(ctx: FunctionContext, node: ast.expr, *, runs: bool = True) -> Bit:
    found = operand(ctx, node, runs=runs)
    with ctx.into(found.block):
        value = ops.truth(dispatch.as_scalar(ctx, node, found.value))
    return Bit(value, found.block, found.plain, conditions.affine_condition(ctx, node))


def _decides(op: str, bit: Expr) -> bool:
    """Whether a constant operand leaves nothing to evaluate behind it."""
    return isinstance(bit, Const) and bool(bit.value) == (op == "or")


def _joined(ctx: FunctionContext, op: str, bits: list[Bit], place: SourcePlace) -> Expr:
    """What the bits give together; the first is always evaluated, its statements are emitted."""
    total, count = _plain_run(ctx, op, bits, place)
    if count == len(bits):
        return total
    result = stores.new_local(ctx, "holds", ops.BOOL, (), place)
    ctx.emit(Store(place, result, (), Const(ops.BOOL, place, int(op == "or"))))
    _go_on(ctx, op, bits, count, total, result, place)
    return Load(ops.BOOL, place, result, ())


def _plain_run(
    ctx: FunctionContext, op: str, bits: Sequence[Bit], place: SourcePlace
) -> tuple[Expr, int]:
    """What the first bit and the plain ones behind it give, and how many they are."""
    count = 1
    while count < len(bits) and bits[count].plain:
        count += 1
    if count == 1:
        return bits[0].value, 1
    return ops.truth(ops.logic(ctx.rules, op, [b.value for b in bits[:count]], place)), count


def _go_on(
    ctx: FunctionContext,
    op: str,
    bits: list[Bit],
    count: int,
    total: Expr,
    result: Var,
    place: SourcePlace,
) -> None:
    """Set ``result`` to what ``bits[count:]`` say, where those before, ``total``, leave it open."""
    rest = bits[count:]
    with ctx.into(list(rest[0].block)) as block:
        inner, taken = _plain_run(ctx, op, rest, place)
        if taken < len(rest):
            inner = stores.compute_once(ctx, inner)
        ctx.emit(Store(place, result, (), inner))
        if taken < len(rest):
            _go_on(ctx, op, rest, taken, inner, result, place)
    ctx.emit(If(place, _open(ctx, op, bits[:count], total, place), block, []))


def _open(
    ctx: FunctionContext, op: str, bits: list[Bit], total: Expr, place: SourcePlace
) -> Expr | AffineCondition:
    """That ``bits``, which give ``total``, do not decide: in affine constraints where possible."""
    if op == "or":
        return ops.truth(ops.unary(ctx.rules, "not", total, place))
    conditions = [bit.condition for bit in bits if bit.condition is not None]
    if len(conditions) < len(bits):
        return total
    return AffineCondition(tuple(c for part in conditions for c in part.constraints))


def condition_unless(ctx: FunctionContext, flags: Sequence[Var], node: ast.expr) -> Expr:
    """A condition as one bit; False, and not evaluated, where one of the flags is set."""
    place = ctx.place(node)
    if not flags:
        return ops.truth(dispatch.scalar(ctx, node))
    clear = Bit(exits.none_set(list(flags), place))
    return ops.truth(_joined(ctx, "and", [clear, _bit(ctx, node)], place))


# --- chained comparisons -----------------------------------------------------------------------


def chain(ctx: FunctionContext, node: ast.Compare, first: Expr, second: Expr) -> Expr:
    """``a < b < c``: each operand once, and none behind a comparison that fails.

    ``first`` and ``second`` are the first two operands, which are always evaluated.
    """
    operands = [Operand(first), Operand(second)]
    bits: list[Bit] = []
    decided = False
    for position, symbol in enumerate(operators.compare_symbols(ctx, node)):
        if position:
            _next_operand(ctx, node.comparators[position], operands, runs=not decided)
        left, right = operands[position : position + 2]
        assert not isinstance(left.value, ArrayValue) and not isinstance(right.value, ArrayValue)
        value = ops.compare(ctx.rules, symbol, left.value, right.value, ctx.place(node))
        if not decided:
            pair = conditions.affine_pair(ctx, node, position)
            bits.append(Bit(value, right.block if position else [], right.plain, pair))
        decided = decided or _decides("and", value)
    return ops.cast(_joined(ctx, "and", bits, ctx.place(node)), ctx.rules.logic)


def _next_operand(
    ctx: FunctionContext, node: ast.expr, operands: list[Operand], *, runs: bool
) -> None:
    """Elaborate an operand; where it has effects, the one before it is read first."""
    found = operand(ctx, node, runs=runs)
    with ctx.into(found.block):
        found.value = dispatch.as_scalar(ctx, node, found.value)
    before = operands[-1]
    assert not isinstance(before.value, ArrayValue)
    if found.block and reads_storage(before.value):
        with ctx.into(ctx.block if len(operands) == 2 else before.block):
            before.value = stores.compute_once(ctx, before.value)
            before.plain = before.plain and len(operands) == 2
    operands.append(found)


# --- x if c else y -------------------------------------------------------------------------------


def choice(ctx: FunctionContext, node: ast.IfExp) -> Value:
    """``x if c else y``: only one side is evaluated where that can be seen."""
    place = ctx.place(node)
    condition = ops.truth(dispatch.scalar(ctx, node.test))
    known = bool(condition.value) if isinstance(condition, Const) else None
    then = operand(ctx, node.body, runs=known is not False)
    other = operand(ctx, node.orelse, runs=known is not True)
    if known is not None:
        return _known_choice(ctx, condition, then, other, known, place)
    if isinstance(then.value, ArrayValue) or isinstance(other.value, ArrayValue):
        return _array_choice(ctx, node, condition, then, other)
    if then.plain and other.plain:
        return ops.select(ctx.rules, condition, then.value, other.value, place)
    dtype = ops.result_type(ctx.rules, "select", then.value, other.value, place)
    result = stores.new_local(ctx, "choice", dtype, (), place)
    for side in (then, other):
        with ctx.into(side.block):
            assert not isinstance(side.value, ArrayValue)
            ctx.emit(Store(place, result, (), ops.cast(side.value, dtype)))
    test = conditions.affine_condition(ctx, node.test) or condition
    ctx.emit(If(ctx.place(node.test), test, then.block, other.block))
    return Load(dtype, place, result, ())


def _known_choice(
    ctx: FunctionContext,
    condition: Expr,
    then: Operand,
    other: Operand,
    known: bool,
    place: SourcePlace,
) -> Value:
    """A choice that is made at compile time, in the type that both sides give."""
    ctx.block.extend(then.block if known else other.block)
    if isinstance(then.value, ArrayValue) or isinstance(other.value, ArrayValue):
        return _select_elements(ctx, condition, then.value, other.value, place)
    return ops.select(ctx.rules, condition, then.value, other.value, place)


def _select_elements(
    ctx: FunctionContext, bit: Expr, then: Value, other: Value, place: SourcePlace
) -> ArrayValue:
    return arrays.elementwise(
        [then, other],
        lambda v: ops.select(ctx.rules, bit, v[0], v[1], place),
        place,
        "Cannot choose",
    )


def _array_choice(
    ctx: FunctionContext, node: ast.IfExp, condition: Expr, then: Operand, other: Operand
) -> Value:
    """A choice between arrays, element by element; a copy of one where a side must be guarded."""
    place = ctx.place(node)
    if then.plain and other.plain:
        bit = stores.compute_once(ctx, condition)
        return _select_elements(ctx, bit, then.value, other.value, place)
    shape = _select_elements(ctx, condition, then.value, other.value, place)
    result = stores.new_local(ctx, "choice", shape.dtype, shape.shape, place)
    target = arrays.whole(result, place)
    for side in (then, other):
        with ctx.into(side.block):
            stores.store(ctx, target, side.value, place)
    test = conditions.affine_condition(ctx, node.test) or condition
    ctx.emit(If(ctx.place(node.test), test, then.block, other.block))
    return target


def compare(ctx: FunctionContext, node: ast.Compare) -> Value:
    """``a < b``, a chain of comparisons, or a comparison of arrays."""
    symbol = operators.compare_symbols(ctx, node)[0]
    left, right = ordered_pair(ctx, node.left, node.comparators[0])
    if isinstance(left, ArrayValue) or isinstance(right, ArrayValue):
        return operators.compare_arrays(ctx, node, symbol, left, right)
    if len(node.ops) > 1:
        return chain(ctx, node, left, right)
    return ops.compare(ctx.rules, symbol, left, right, ctx.place(node))
