"""Affine expressions as those of MLIR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import CompileTimeError
from allo.dialects.text.shown import shown

from ..affine import Affine, Iter, Mod, Symbol


def atoms_of(values: Sequence[Affine]) -> tuple[list[Iter], list[Symbol]]:
    """The iterators and symbols of expressions, each once."""
    dims: dict[Iter, None] = {}
    symbols: dict[Symbol, None] = {}
    for value in values:
        for atom in value.atoms():
            if isinstance(atom, Iter):
                dims[atom] = None
            else:
                symbols[atom] = None
    return list(dims), list(symbols)


def affine_expr(value: Affine, dims: Sequence[Iter], symbols: Sequence[Symbol]) -> ir.AffineExpr:
    """An expression over ``dims`` and ``symbols``.

    Raises:
        CompileTimeError: when a number in it does not fit an index.
    """
    total: ir.AffineExpr | None = None
    for number in (value.const, *(coefficient for _, coefficient in value.terms)):
        if not -(1 << 63) <= number < 1 << 63:
            raise CompileTimeError(
                f"The number {shown(number)} in a subscript or bound does not fit index (64 bits).",
                help="subscripts and bounds are at most 2**63 - 1.",
            )
    for atom, coefficient in value.terms:
        term = _atom_expr(atom, dims, symbols)
        if coefficient != 1:
            term = term * coefficient
        total = term if total is None else total + term
    if total is None:
        return ir.AffineExpr.get_constant(value.const)
    return total + value.const if value.const else total


def _atom_expr(atom: Any, dims: Sequence[Iter], symbols: Sequence[Symbol]) -> ir.AffineExpr:
    if isinstance(atom, Iter):
        return ir.AffineExpr.get_dim(dims.index(atom))
    if isinstance(atom, Symbol):
        return ir.AffineExpr.get_symbol(symbols.index(atom))
    inner = affine_expr(atom.value, dims, symbols)
    if isinstance(atom, Mod):
        return ir.AffineExpr.get_mod(inner, atom.divisor)
    return ir.AffineExpr.get_floor_div(inner, atom.divisor)
