"""Affine expressions over values: fast where all are known, terms where one is not."""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects._mlir import ir
from allo.dialects.affine.maps import OPERATORS, BoundMap, expression_parts, linear_form

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
        return _general(expr, slots, dims)
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


def _general(expr: ir.AffineExpr, slots: list[int], dims: int) -> Index:
    if isinstance(expr, ir.AffineConstantExpr):
        constant = expr.value
        return lambda frame: constant
    parts = expression_parts(expr)
    if parts is None:
        slot = _slot(expr, slots, dims)
        return lambda frame: frame[slot] + 0
    operator, a, b = parts[0], _general(parts[1], slots, dims), _general(parts[2], slots, dims)
    if operator == "+":
        return lambda frame: a(frame) + b(frame)
    if operator == "*":
        return lambda frame: a(frame) * b(frame)
    if operator == "mod":
        return lambda frame: a(frame) % b(frame)
    if operator == "floordiv":
        return lambda frame: a(frame) // b(frame)
    return lambda frame: -(-a(frame) // b(frame))


def _slot(expr: ir.AffineExpr, slots: list[int], dims: int) -> int:
    position: int = expr.position
    return slots[position + (dims if isinstance(expr, ir.AffineSymbolExpr) else 0)]


def _symbolic(expr: ir.AffineExpr, slots: list[int], dims: int, terms: Terms) -> Symbolic:
    if isinstance(expr, ir.AffineConstantExpr):
        constant = expr.value
        return lambda frame: constant
    parts = expression_parts(expr)
    if parts is None:
        slot = _slot(expr, slots, dims)
        return lambda frame: frame[slot]
    a, b = (_symbolic(p, slots, dims, terms) for p in parts[1:])
    label, fold = _OPERATIONS[parts[0]], OPERATORS[parts[0]]

    def value(frame: Frame) -> Value:
        x, y = a(frame), b(frame)
        if isinstance(x, int) and isinstance(y, int):
            return fold(x, y)
        if (parts[0] == "+" and y == 0) or (parts[0] == "*" and y == 1):
            return x
        return terms.make(label, "index", (x, y))

    return value
