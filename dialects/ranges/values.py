"""Ranges that index and integer values of the core IR cannot leave, as far as can be seen cheaply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .._mlir import ir
from ..affine.loops import LOOP_NAMES, is_affine_loop, spec_of
from ..affine.maps import BoundMap, bound_map
from ..core.expressions import Form, fold, join_linear, leaves, unit_form
from ..core.integers import integer_of_text
from .indices import value_range_at
from .interval import INDEX_RANGE, OF_ARITH, Interval, combined, hull, kept, of_bits, within

_DEEP = 24

Known = Mapping[ir.Value, Interval]


def interval_of(
    value: ir.Value, at: ir.Operation, known: Known | None = None, depth: int = 0
) -> Interval | None:
    """What a value of type index or integer, the latter signed, cannot leave where ``at`` runs.

    Args:
        known: what the caller knows of values, such as a function's arguments.
    """
    if known and value in known:
        return known[value]
    if depth > _DEEP:
        return _of_type(value.type)
    if isinstance(value, ir.BlockArgument):
        return _counter(value, at, known, depth)
    op = value.owner.operation
    if op.name == "arith.constant":
        return _constant(op)
    if op.name == "affine.apply":
        bound = bound_map(op)
        return _kept(expression_interval(bound.results[0], bound, at, known, depth + 1), value.type)
    if op.name in _CASTS:
        return _cast(op, at, known, depth)
    if op.name not in OF_ARITH and op.name != "arith.select":
        return _of_type(value.type)
    a, b = (interval_of(v, at, known, depth + 1) for v in list(op.operands)[-2:])
    if op.name == "arith.select":
        return _kept(None if a is None or b is None else hull(a, b), value.type)
    return _kept(combined(OF_ARITH[op.name], a, b), value.type)


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
    expr: ir.AffineExpr,
    bound: BoundMap,
    at: ir.Operation,
    known: Known | None = None,
    depth: int = 0,
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
        return _Part(form, lambda: combined(operator, whole(a), whole(b)))

    def dim(k: int) -> _Part:
        return _Part(unit_form(k, count), lambda: interval_of(bound.dims[k], at, known, depth + 1))

    def symbol(k: int) -> _Part:
        return _Part(None, lambda: interval_of(bound.symbols[k], at, known, depth + 1))

    def constant(value: int) -> _Part:
        return _Part(([0] * count, value), lambda: (value, value))

    return whole(fold(expr, leaves(dim, symbol, constant), join))


def _constant(op: ir.Operation) -> Interval | None:
    attribute = op.attributes["value"]
    if not isinstance(attribute, ir.IntegerAttr):
        return None
    text = str(attribute).split(" ")[0]
    number = integer_of_text(text.replace("true", "1").replace("false", "0"))
    return number, number


def _counter(
    value: ir.BlockArgument, at: ir.Operation, known: Known | None, depth: int
) -> Interval | None:
    owner = value.owner.owner
    if owner is None or owner.operation.name not in LOOP_NAMES:
        return _of_type(value.type)
    loop = owner.operation
    span = value_range_at(at, [(value, 1)])
    if span is not None:
        return span
    if is_affine_loop(loop):
        spec = spec_of(loop)
        lows, highs = (
            [expression_interval(e, bound, at, known, depth + 1) for e in bound.results]
            for bound in (spec.lower, spec.upper)
        )
    elif loop.name == "scf.for":
        lows, highs = ([interval_of(v, at, known, depth + 1)] for v in list(loop.operands)[:2])
    else:
        return None
    least = [low[0] for low in lows if low is not None]
    most = [high[1] - 1 for high in highs if high is not None]
    return (max(least), max(*least, min(most))) if least and most else None


def _of_type(kind: ir.Type) -> Interval | None:
    return of_bits(kind.width) if isinstance(kind, ir.IntegerType) else None


def _kept(found: Interval | None, kind: ir.Type) -> Interval | None:
    """A range after it was cut to a type."""
    if isinstance(kind, ir.IndexType):
        return found if found is not None and within(found, INDEX_RANGE) else None
    return kept(found, _of_type(kind))


_CASTS = ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui")


def _cast(op: ir.Operation, at: ir.Operation, known: Known | None, depth: int) -> Interval | None:
    source = op.operands[0]
    found = interval_of(source, at, known, depth + 1)
    unsigned = op.name in ("arith.extui", "arith.index_castui")
    if unsigned and isinstance(source.type, ir.IntegerType) and (found is None or found[0] < 0):
        found = of_bits(source.type.width, signed=False)
    return _kept(found, op.results[0].type)
