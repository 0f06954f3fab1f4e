"""Ranges of linear index expressions over the loops around them, asked of islpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import islpy as isl

from .._mlir import ir
from .loops import LoopSpec, is_affine_loop, spec_of
from .maps import BoundMap, expression_parts

Term = tuple[ir.Value, int]


class Unknown(Exception):
    """An index that has no affine name here; the caller over-approximates."""


class Names(Protocol):
    """Index values to isl text; raises :class:`Unknown` (or KeyError) for values without one."""

    def __getitem__(self, value: ir.Value, /) -> str: ...


def value_range(terms: Sequence[Term]) -> tuple[int, int] | None:
    """(least, greatest) value of ``sum(coefficient * index)`` over the loops that define the indices.

    None when the loops have no constant bounds to derive it from.
    """
    simple = _interval(terms)
    return simple if simple is not None else _exact(terms)


def _interval(terms: Sequence[Term]) -> tuple[int, int] | None:
    low = high = 0
    for value, coefficient in terms:
        loop = loop_of(value)
        if loop is None or not is_affine_loop(loop):
            return None
        spec = spec_of(loop)
        bounds, count = spec.constant_bounds(), spec.trip_count()
        if bounds is None or not count:
            return None
        ends = (bounds[0] * coefficient, (bounds[0] + (count - 1) * spec.step) * coefficient)
        low += min(ends)
        high += max(ends)
    return low, high


def loop_of(value: ir.Value) -> ir.Operation | None:
    """The loop an index value iterates, or None."""
    if not isinstance(value, ir.BlockArgument) or value.owner.owner is None:
        return None
    op = value.owner.owner.operation
    return op if op.name in ("affine.for", "scf.for") else None


def _exact(terms: Sequence[Term]) -> tuple[int, int] | None:
    names: dict[ir.Value, str] = {}
    specs: dict[ir.Value, LoopSpec] = {}
    rows: list[str] = []
    pending = [value for value, _ in terms]
    while pending:
        value = pending.pop()
        if value in names:
            continue
        names[value] = f"v{len(names)}"
        loop = loop_of(value)
        if loop is None or not is_affine_loop(loop):
            return None
        specs[value] = spec = spec_of(loop)
        pending += [v for b in (spec.lower, spec.upper) for v in b.operands]
    for value, name in names.items():
        spec = specs[value]
        rows += [f"{name} >= {t}" for t in _texts(spec.lower, names)]
        rows += [f"{name} < {t}" for t in _texts(spec.upper, names)]
        if spec.step > 1 and (low := spec.lower.constant()) is not None:
            rows.append(f"({name} - {low}) mod {spec.step} = 0")
    total = " + ".join(f"{c} * {names[v]}" for v, c in terms) or "0"
    inputs = ", ".join(names.values())
    relation = isl.Map(f"{{ [{inputs}] -> [{total}] : {' and '.join(rows)} }}")
    image = relation.range()
    if image.is_empty() or not image.is_bounded():
        return None
    return image.dim_min_val(0).to_python(), image.dim_max_val(0).to_python()


def _texts(bound: BoundMap, names: dict[ir.Value, str]) -> list[str]:
    return [expression_text(e, bound, names) for e in bound.map.results]


def expression_text(expr: ir.AffineExpr, bound: BoundMap, names: Names) -> str:
    """The isl text of an affine expression whose operands have the given names.

    Raises:
        Unknown: a division by something that is not a constant.
    """
    if isinstance(expr, ir.AffineConstantExpr):
        return str(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return names[bound.dims[expr.position]]
    if isinstance(expr, ir.AffineSymbolExpr):
        return names[bound.symbols[expr.position]]
    parts = expression_parts(expr)
    if parts is None:
        raise Unknown
    operator, left, right = parts
    a = expression_text(left, bound, names)
    if operator == "+":
        return f"({a} + {expression_text(right, bound, names)})"
    if not isinstance(right, ir.AffineConstantExpr):
        raise Unknown
    c = right.value
    if operator == "*":
        return f"({c} * {a})"
    if operator == "mod":
        return f"({a} mod {c})"
    return f"floor({a}/{c})" if operator == "floordiv" else f"(-floor((-{a})/{c}))"
