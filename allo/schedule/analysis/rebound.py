"""Bounds of the loops of a nest in another order, where those of an inner loop depend on an outer one.

A loop from ``t + 1`` to ``t + 9`` inside a loop over ``t`` cannot simply move outside: it then runs
over all values it takes for any ``t``, and ``t`` over those that meet its value. So do the two loops of a
triangle, from 0 to ``t``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from allo.dialects._mlir import ir
from allo.dialects.affine.isl import isl
from allo.dialects.affine.loops import (
    enclosing_loops,
    induction_variable,
    is_affine_loop,
    join_bounds,
    spec_of,
)
from allo.dialects.affine.maps import BoundMap
from allo.dialects.affine.substitute import simplify
from allo.dialects.core.expressions import linear_form

Row = dict[ir.Value | None, int]
"""What is zero or more inside the nest: a coefficient for each value, and at None the constant."""


def rebound(wanted: Sequence[ir.Operation]) -> list[tuple[BoundMap, BoundMap]] | None:
    """(lower, upper) bound of each loop of a perfect nest that shall stand in the order ``wanted``.

    The bounds are written in the present indices of the loops. None where a bound is not linear, a
    step is not 1, or the nest never runs.
    """
    rows = _rows_of(wanted)
    if rows is None:
        return None
    variables = [induction_variable(op) for op in wanted]
    bounds: list[tuple[BoundMap, BoundMap]] = []
    while variables:
        needed = _without_redundant(rows, variables)
        if needed is None:
            return None
        bounds.append(_bounds(needed, variables[-1]))
        rows = _eliminated(needed, variables.pop())
    return bounds[::-1]


def _rows_of(loops: Sequence[ir.Operation]) -> list[Row] | None:
    """The bounds of loops; None where one is not linear, or a step is not 1."""
    rows: list[Row] = []
    for op in loops:
        spec, variable = spec_of(op), induction_variable(op)
        if spec.step != 1:
            return None
        for bound, sign, constant in ((spec.lower, -1, 0), (spec.upper, 1, -1)):
            for k in range(len(bound.results)):
                row = _row(bound, k)
                if row is None:
                    return None
                rows.append(_sum((sign, row), (-sign, {variable: 1}), (1, {None: constant})))
    return rows


def _row(bound: BoundMap, k: int) -> Row | None:
    """The k-th result of a map as a row, None where it is not linear."""
    form = None if bound.map.n_symbols else linear_form(bound.map.results[k], bound.map.n_dims)
    if form is None:
        return None
    terms = [(c, {value: 1}) for value, c in zip(bound.operands, form[0], strict=True)]
    return _sum(*terms, (form[1], {None: 1}))


def _sum(*terms: tuple[int, Row]) -> Row:
    total: Row = {}
    for factor, row in terms:
        for value, coefficient in row.items():
            total[value] = total.get(value, 0) + factor * coefficient
    return {value: c for value, c in total.items() if c}


def _eliminated(rows: Sequence[Row], variable: ir.Value) -> list[Row]:
    """What the rows say of the other values (Fourier and Motzkin)."""
    kept = [row for row in rows if variable not in row]
    lowers = [row for row in rows if row.get(variable, 0) > 0]
    uppers = [row for row in rows if row.get(variable, 0) < 0]
    for low in lowers:
        for high in uppers:
            a, b = low[variable], -high[variable]
            shared = gcd(a, b)
            kept.append(_sum((b // shared, low), (a // shared, high)))
    return kept


def _without_redundant(rows: Sequence[Row], variables: Sequence[ir.Value]) -> list[Row] | None:
    """The rows that the others do not imply; None where no value meets them all."""
    others = [v for v in dict.fromkeys(v for row in rows for v in row) if v is not None]
    names = dict.fromkeys([*variables, *others])
    shape = _shape(rows, list(names))
    if shape.is_empty():
        return None
    shape = shape.remove_redundancies()
    found: list[Row] = []
    for constraint in shape.get_constraints():
        row: Row = {None: constraint.get_constant_val().to_python()}
        for k, value in enumerate(names):
            row[value] = constraint.get_coefficient_val(isl.dim_type.set, k).to_python()
        row = _sum((1, row))
        found += [row, _sum((-1, row))] if constraint.is_equality() else [row]
    return found


def _shape(rows: Sequence[Row], values: Sequence[ir.Value]) -> isl.BasicSet:
    """The points that meet all rows, a dimension for each value."""
    names = {value: f"v{k}" for k, value in enumerate(values)}
    texts = [
        " + ".join(f"{c}*{names[v]}" if v else str(c) for v, c in r.items()) for r in rows if r
    ]
    conditions = " and ".join(f"{text} >= 0" for text in texts) or "1 = 1"
    return isl.BasicSet(f"{{ [{', '.join(names.values())}] : {conditions} }}")


def _bounds(rows: Sequence[Row], variable: ir.Value) -> tuple[BoundMap, BoundMap]:
    lowers = [_bound(row, variable) for row in rows if row.get(variable, 0) > 0]
    uppers = [_bound(row, variable) for row in rows if row.get(variable, 0) < 0]
    return _joined(lowers), _joined(uppers)


def _bound(row: Row, variable: ir.Value) -> BoundMap:
    """What a row says of a value: its least, or what it stays below."""
    weight = row[variable]
    rest = [(value, c) for value, c in row.items() if value is not None and value != variable]
    sign = -1 if weight > 0 else 1
    expr: ir.AffineExpr = ir.AffineExpr.get_constant(sign * row.get(None, 0))
    for position, (_, coefficient) in enumerate(rest):
        factor = ir.AffineExpr.get_constant(sign * coefficient)
        term = ir.AffineExpr.get_mul(ir.AffineExpr.get_dim(position), factor)
        expr = ir.AffineExpr.get_add(expr, term)
    if weight > 1:
        expr = ir.AffineExpr.get_ceil_div(expr, weight)
    elif weight < -1:
        expr = ir.AffineExpr.get_floor_div(expr, -weight)
    if weight < 0:
        expr = ir.AffineExpr.get_add(expr, ir.AffineExpr.get_constant(1))
    values = tuple(value for value, _ in rest)
    return simplify(BoundMap(ir.AffineMap.get(len(values), 0, [expr]), values))


def _joined(bounds: Sequence[BoundMap]) -> BoundMap:
    return bounds[0] if len(bounds) == 1 else join_bounds(*bounds)


def range_of(loop: ir.Operation, *, empty: bool = False) -> tuple[int, int] | None:
    """The first value that a loop's index takes in all runs of the loops around it, and one past the last.

    None where a bound is not linear, a step is not 1, the range depends on what is no index of these loops,
    or, unless ``empty`` runs are allowed, the loop runs no iteration in some iteration of theirs.
    """
    around = enclosing_loops(loop)
    if not all(is_affine_loop(op) for op in around):
        return None
    found = rebound([loop, *around])
    bounds = None if found is None else [bound.map.results for bound in found[0]]
    if bounds is None or not all(
        len(b) == 1 and isinstance(b[0], ir.AffineConstantExpr) for b in bounds
    ):
        return None
    variables = [induction_variable(op) for op in [*around, loop]]
    outer, whole = _rows_of(around), _rows_of([*around, loop])
    if outer is None or whole is None or any({*row} - {None, *variables} for row in whole):
        return None
    if empty:
        return bounds[0][0].value, bounds[1][0].value
    met = _shape(whole, variables).project_out(isl.dim_type.set, len(around), 1)
    if not _shape(outer, variables[:-1]).is_subset(met):
        return None
    return bounds[0][0].value, bounds[1][0].value
