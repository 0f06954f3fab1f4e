"""Ranges that index and integer values of the core IR cannot leave, as far as can be seen cheaply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .._mlir import ir
from ..core.expressions import Form, fold, join_linear, leaves, unit_form
from ..core.integers import integer_of_text
from .loops import LOOP_NAMES
from .maps import BoundMap, bound_map
from .ranges import value_range_at

Interval = tuple[int, int]

_DEEP = 24


def interval_of(value: ir.Value, at: ir.Operation, depth: int = 0) -> Interval | None:
    """What a value of type index or integer, the latter signed, cannot leave where ``at`` runs."""
    if depth > _DEEP:
        return _of_type(value.type)
    if isinstance(value, ir.BlockArgument):
        return _counter(value, at, depth)
    op = value.owner.operation
    if op.name == "arith.constant":
        return _constant(op)
    if op.name == "affine.apply":
        bound = bound_map(op)
        return expression_interval(bound.results[0], bound, at, depth + 1)
    if op.name in _CASTS:
        return _cast(op, at, depth)
    rule = _RULES.get(op.name)
    if rule is None:
        return _of_type(value.type)
    sides = [interval_of(v, at, depth + 1) for v in op.operands]
    found = rule(*sides)
    return _kept(found, value.type)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an affine expression.

    Attributes:
        form: the part as a linear expression of the dims, where it is one.
        rest: its range as its own parts tell it, for where the form tells none.
    """

    form: Form | None
    rest: Callable[[], Interval | None]


def expression_interval(
    expr: ir.AffineExpr, bound: BoundMap, at: ir.Operation, depth: int = 0
) -> Interval | None:
    """What an affine expression cannot leave where ``at`` runs."""
    count = bound.map.n_dims

    def whole(part: _Part) -> Interval | None:
        if part.form is not None and not bound.map.n_symbols:
            factors, constant = part.form
            terms = [(v, c) for v, c in zip(bound.dims, factors, strict=True) if c]
            span = value_range_at(at, terms) if terms else (0, 0)
            if span is not None:
                return span[0] + constant, span[1] + constant
        return part.rest()

    def join(operator: str, a: _Part, b: _Part) -> _Part:
        form = join_linear(operator, a.form, b.form)
        return _Part(form, lambda: _JOINS[operator](whole(a), whole(b)))

    def dim(k: int) -> _Part:
        return _Part(unit_form(k, count), lambda: interval_of(bound.dims[k], at, depth + 1))

    def symbol(k: int) -> _Part:
        return _Part(None, lambda: interval_of(bound.symbols[k], at, depth + 1))

    def constant(value: int) -> _Part:
        return _Part(([0] * count, value), lambda: (value, value))

    return whole(fold(expr, leaves(dim, symbol, constant), join))


def _mod(a: Interval | None, b: Interval | None) -> Interval | None:
    if b is None or b[0] != b[1] or b[0] <= 0:
        return None
    if a is not None and a[0] >= 0 and a[1] < b[0]:
        return a
    return 0, b[0] - 1


def _constant(op: ir.Operation) -> Interval | None:
    attribute = op.attributes["value"]
    if not isinstance(attribute, ir.IntegerAttr):
        return None
    text = str(attribute).split(" ")[0]
    number = integer_of_text(text.replace("true", "1").replace("false", "0"))
    return number, number


def _counter(value: ir.BlockArgument, at: ir.Operation, depth: int) -> Interval | None:
    owner = value.owner.owner
    if owner is None or owner.operation.name not in LOOP_NAMES:
        return _of_type(value.type)
    span = value_range_at(at, [(value, 1)])
    if span is not None or owner.operation.name != "scf.for":
        return span
    low, high = (interval_of(v, at, depth + 1) for v in list(owner.operation.operands)[:2])
    return None if low is None or high is None else (low[0], max(low[0], high[1] - 1))


def _of_type(kind: ir.Type) -> Interval | None:
    if not isinstance(kind, ir.IntegerType):
        return None
    return -(1 << (kind.width - 1)), (1 << (kind.width - 1)) - 1


def _kept(found: Interval | None, kind: ir.Type) -> Interval | None:
    """A range after it was cut to a type."""
    whole = _of_type(kind)
    if whole is None or (found is not None and whole[0] <= found[0] and found[1] <= whole[1]):
        return found
    return whole


_CASTS = ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui")


def _cast(op: ir.Operation, at: ir.Operation, depth: int) -> Interval | None:
    source = op.operands[0]
    found = interval_of(source, at, depth + 1)
    unsigned = op.name in ("arith.extui", "arith.index_castui")
    if unsigned and isinstance(source.type, ir.IntegerType) and (found is None or found[0] < 0):
        found = 0, (1 << source.type.width) - 1
    return _kept(found, op.results[0].type)


def _both(rule: Callable[[Interval, Interval], Interval | None]) -> Callable[..., Interval | None]:
    def apply(a: Interval | None, b: Interval | None) -> Interval | None:
        return None if a is None or b is None else rule(a, b)

    return apply


def _ends(rule: Callable[[int, int], int]) -> Callable[[Interval, Interval], Interval]:
    def apply(a: Interval, b: Interval) -> Interval:
        values = [rule(x, y) for x in a for y in b]
        return min(values), max(values)

    return apply


def _division(rule: Callable[[int, int], int]) -> Callable[[Interval, Interval], Interval | None]:
    ends = _ends(rule)
    return lambda a, b: ends(a, b) if b[0] > 0 else None


def _remainder(a: Interval | None, b: Interval | None) -> Interval | None:
    if a is None or b is None or b[0] <= 0:
        return None
    top = b[1] - 1
    return (0 if a[0] >= 0 else -top), top


def _masked(a: Interval | None, b: Interval | None) -> Interval | None:
    tops = [side[1] for side in (a, b) if side is not None and side[0] >= 0]
    return (0, min(tops)) if tops else None


def _shifted(a: Interval, b: Interval) -> Interval | None:
    return (0, a[1] >> min(b[0], 4096)) if a[0] >= 0 and b[0] >= 0 else None


def _joined(
    condition: Interval | None, then: Interval | None, other: Interval | None
) -> Interval | None:
    del condition
    if then is None or other is None:
        return None
    return min(then[0], other[0]), max(then[1], other[1])


_add = _both(_ends(lambda x, y: x + y))
_multiply = _both(_ends(lambda x, y: x * y))
_floor = _both(_division(lambda x, y: x // y))
_ceil = _both(_division(lambda x, y: -(-x // y)))
_JOINS = {"+": _add, "*": _multiply, "mod": _mod, "floordiv": _floor, "ceildiv": _ceil}
_RULES: dict[str, Callable[..., Interval | None]] = {
    "arith.addi": _add,
    "arith.subi": _both(_ends(lambda x, y: x - y)),
    "arith.muli": _multiply,
    "arith.floordivsi": _floor,
    "arith.remsi": _remainder,
    "arith.andi": _masked,
    "arith.minsi": _both(_ends(min)),
    "arith.maxsi": _both(_ends(max)),
    "arith.shrsi": _both(_shifted),
    "arith.select": _joined,
}
