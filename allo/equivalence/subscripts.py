"""Affine expressions over values: fast where all are known, terms where one is not."""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects._mlir import ir
from allo.dialects.affine.maps import BoundMap
from allo.dialects.core.expressions import OPERATORS, fold, formula, leaves, linear_form

from .machine import Frame, FunctionCode
from .terms import Terms, Value

type Index = Callable[[Frame], int]
type Symbolic = Callable[[Frame], Value]

_OPERATIONS = {
    "+": "arith.addi",
    "*": "arith.muli",
    "floordiv": "affine.floordiv",
    "ceildiv": "affine.ceildiv",
    "mod": "affine.mod",
}


def known_indices(code: FunctionCode, bound: BoundMap) -> list[Index]:
    """One function a result, for frames in which every operand is known.

    A symbolic operand makes them raise ``TypeError``.
    """
    slots = [code.slot(v) for v in bound.operands]
    return [_known(e, slots, bound.map.n_dims) for e in bound.results]


def symbolic_indices(code: FunctionCode, bound: BoundMap) -> list[Symbolic]:
    """One function a result, for frames in which operands may be symbols."""
    slots = [code.slot(v) for v in bound.operands]
    terms = code.machine.terms
    return [_symbolic(e, slots, bound.map.n_dims, terms) for e in bound.results]


def _known(expr: ir.AffineExpr, slots: list[int], dims: int) -> Index:
    form = linear_form(expr, len(slots)) if dims == len(slots) else None
    if form is None:
        elements = [_element(slot) for slot in slots]
        return formula(expr, elements[:dims], elements[dims:])
    factors, constant = form
    used = [(slot, factor) for slot, factor in zip(slots, factors, strict=True) if factor]
    if not used:
        return lambda frame: constant
    if len(used) == 1:
        (slot, factor), *_ = used
        if factor == 1:
            return lambda frame: frame[slot] + constant
        return lambda frame: frame[slot] * factor + constant
    if len(used) == 2:
        (s, x), (t, y) = used
        return lambda frame: frame[s] * x + frame[t] * y + constant
    return lambda frame: constant + sum(frame[slot] * factor for slot, factor in used)


def _element(slot: int) -> Index:
    return lambda frame: frame[slot] + 0


def _symbolic(expr: ir.AffineExpr, slots: list[int], dims: int, terms: Terms) -> Symbolic:
    def operand(slot: int) -> Symbolic:
        return lambda frame: frame[slot]

    def constant(value: int) -> Symbolic:
        return lambda frame: value

    def join(operator: str, a: Symbolic, b: Symbolic) -> Symbolic:
        return lambda frame: _joined(operator, a(frame), b(frame), terms)

    leaf = leaves(lambda k: operand(slots[k]), lambda k: operand(slots[dims + k]), constant)
    return fold(expr, leaf, join)


def _joined(operator: str, x: Value, y: Value, terms: Terms) -> Value:
    if isinstance(x, int) and isinstance(y, int):
        return OPERATORS[operator](x, y)
    if (operator == "+" and y == 0) or (operator == "*" and y == 1):
        return x
    return terms.make(_OPERATIONS[operator], "index", (x, y))
