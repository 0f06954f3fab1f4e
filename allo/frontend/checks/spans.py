"""Ranges of index values, and whether evaluating an expression can do harm.

An expression does harm when it reads an array at a subscript that may be outside of it. Everything
else that an expression tree says (arithmetic, divisions, shifts, conversions) has a result for every
operand, so hardware may compute it early and choose afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from allo.dialects.ranges.interval import Interval, combined, hull, kept
from allo.dialects.types import AlloType

from ..affine import Affine
from ..rules.integers import is_integer, range_of
from ..tree import (
    AffineCondition,
    Argument,
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Compute,
    Const,
    Effect,
    Expr,
    Fill,
    For,
    If,
    IndexValue,
    Load,
    Math,
    Put,
    Return,
    Select,
    Stmt,
    Store,
    StreamRef,
    Subscript,
    Try,
    Var,
    View,
)


def may_fault(value: Expr) -> bool:
    """Whether an expression may read outside an array."""
    seen: set[Expr] = set()
    pending = [value]
    while pending:
        expr = pending.pop()
        if expr in seen:
            continue
        seen.add(expr)
        if isinstance(expr, Load) and not all_inside(expr.var, expr.indices):
            return True
        pending.extend(children(expr))
    return False


def all_inside(var: Var, indices: tuple[Subscript, ...]) -> bool:
    """Whether every subscript surely lies in its dimension."""
    return all(
        extent is not None and extent > 0 and is_inside(index, extent)
        for index, extent in zip(indices, var.shape, strict=True)
    )


def is_inside(index: Subscript, extent: int) -> bool:
    """Whether a subscript surely lies in 0 … extent − 1."""
    span = span_of(index)
    return span is not None and span[0] >= 0 and span[1] < extent


def children(expr: Expr) -> Iterator[Expr]:
    """The expressions that an expression computes anew from."""
    match expr:
        case Load():
            yield from (i for i in expr.indices if not isinstance(i, Affine))
        case Binary() | Compare():
            yield from (expr.lhs, expr.rhs)
        case Select():
            yield from (expr.condition, expr.then, expr.other)
        case Cast() | Bitcast():
            yield expr.value
        case Math():
            yield from expr.args


def evaluated(statement: Stmt) -> list[Expr]:
    """The expressions that a statement evaluates: not those of its blocks, nor what a ``while`` tests."""
    match statement:
        case Store():
            return [*_computed(statement.indices), statement.value]
        case Fill() | Compute():
            return [statement.value]
        case Try() if statement.value is not None:
            return [statement.value]
        case Put() if not isinstance(statement.value, Var):
            return [statement.value]
        case Effect():
            return list(statement.operands)
        case Return():
            return [v for v in statement.values if not isinstance(v, Var)]
        case Call():
            return [v for argument in statement.args for v in _argument_values(argument)]
        case For():
            return _computed((*statement.lower, *statement.upper, statement.step))
        case If() if not isinstance(statement.condition, AffineCondition):
            return [statement.condition]
    return []


def _computed(subscripts: Iterable[Subscript]) -> list[Expr]:
    return [part for part in subscripts if not isinstance(part, Affine)]


def _argument_values(argument: Argument) -> list[Expr]:
    if isinstance(argument, View):
        return _computed(argument.offsets)
    return [] if isinstance(argument, (Var, StreamRef)) else [argument]


def loads(values: Iterable[Expr]) -> Iterator[Load]:
    """Every element that expressions read, each expression once."""
    pending, seen = list(values), set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, Load):
            yield value
        pending.extend(children(value))


def span_of(value: Subscript) -> Interval | None:
    """(least, greatest) value that an index or integer expression cannot leave, or None."""
    if isinstance(value, Affine):
        return value.bounds()
    match value:
        case Const(value=int() as number):
            return _kept((number, number), value.dtype)
        case IndexValue():
            return _kept(value.affine.bounds(), value.dtype)
        case Compare():
            return 0, 1
        case Cast():
            return _kept(span_of(value.value), value.dtype)
        case Select():
            then, other = span_of(value.then), span_of(value.other)
            return None if then is None or other is None else hull(then, other)
        case Math(function="ctpop"):
            return 0, value.dtype.bits
        case Binary():
            return _kept(_binary(value), value.dtype)
    return _type_span(value.dtype)


def _type_span(dtype: AlloType) -> Interval | None:
    return range_of(dtype) if is_integer(dtype) else None


def _kept(span: Interval | None, dtype: AlloType) -> Interval | None:
    """A range after conversion to a type: what may wrap may be anything there."""
    return kept(span, _type_span(dtype))


def _binary(value: Binary) -> Interval | None:
    left, right = span_of(value.lhs), span_of(value.rhs)
    operator = _OPERATORS.get(value.op)
    if operator is None or (value.op in ("/", "%") and (left is None or left[0] < 0)):
        return None
    return combined(operator, left, right)


_OPERATORS = {
    **{op: op for op in ("+", "-", "*", "min", "max", "&", ">>")},
    "//": "floordiv",
    "/": "floordiv",
    "%": "mod",
}
"""Those that intervals have; ``/`` and ``%`` round toward zero, which is down where nothing is negative."""
