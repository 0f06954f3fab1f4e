"""Emission of scalar expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import SourcePlace
from allo.dialects.ranges.interval import within
from allo.dialects.types import AlloType, Float, Index, Int
from allo.frontend.affine import is_affine
from allo.frontend.emit.affine_maps import affine_expr, atoms_of
from allo.frontend.emit.spellings import cast_steps, comparison, operation_name

from ..affine import Affine, FloorDiv, Iter, Symbol
from ..rules import operations as ops
from ..rules.integers import range_of
from ..tree import (
    ArgValue,
    Binary,
    Bitcast,
    CallResult,
    Cast,
    Compare,
    Computed,
    Const,
    Expr,
    IndexValue,
    Load,
    Math,
    Select,
    StreamGet,
    Subscript,
    Tried,
    Var,
)
from .mlir_types import TypeCache, is_unsigned


class ValueEmitter:
    """Emits expressions of one function at a moving insertion point.

    Attributes:
        ip: where the next operation goes.
        entry: the function's first block, which holds its constants.
    """

    def __init__(self, types: TypeCache, entry: ir.Block) -> None:
        self.types = types
        self.entry = entry
        self.ip = ir.InsertionPoint(entry)
        self.values: dict[Any, ir.Value] = {}
        self._constants: dict[tuple[str, Any], ir.Value] = {}
        self._memo: dict[Expr, ir.Value] = {}
        self._last_constant: ir.Operation | None = None

    # --- operations ------------------------------------------------------------------------

    def op(
        self,
        name: str,
        results: Sequence[ir.Type],
        operands: Sequence[ir.Value],
        place: SourcePlace,
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """Create an operation here."""
        return ir.Operation.create(
            name,
            results=results,
            operands=operands,
            attributes=attributes,
            regions=regions,
            loc=self.types.location(place),
            ip=self.ip,
        )

    def value_op(
        self,
        name: str,
        result: ir.Type,
        operands: Sequence[ir.Value],
        place: SourcePlace,
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """Create an operation with one result here."""
        return self.op(name, [result], operands, place, attributes).results[0]

    def at_entry(
        self,
        name: str,
        result: ir.Type,
        operands: Sequence[ir.Value],
        place: SourcePlace,
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """Create an operation at the top of the function, behind those put there before."""
        before = self.ip
        self.ip = self._entry_point()
        created = self.op(name, [result], operands, place, attributes)
        self.ip = before
        self._last_constant = created
        return created.results[0]

    def _entry_point(self) -> ir.InsertionPoint:
        if self._last_constant is not None:
            return ir.InsertionPoint.after(self._last_constant)
        return ir.InsertionPoint.at_block_begin(self.entry)

    def constant(self, dtype: AlloType, value: int | float, place: SourcePlace) -> ir.Value:
        """A constant; each one stands once at the top of the function."""
        attribute = self.types.number(dtype, value)
        key = (dtype.mlir_name, repr(value) if isinstance(value, float) else str(attribute))
        found = self._constants.get(key)
        if found is None:
            found = self.at_entry(
                "arith.constant", self.types.scalar(dtype), [], place, {"value": attribute}
            )
            self._constants[key] = found
        return found

    # --- expressions ----------------------------------------------------------------------------

    def begin_statement(self) -> None:
        """Forget what was computed: a store may change what loads give."""
        self._memo.clear()

    def emit(self, expr: Expr) -> ir.Value:
        """The value of an expression; one met twice in a statement is computed once."""
        found = self._memo.get(expr)
        if found is None:
            found = self._memo[expr] = _EMITTERS[type(expr)](self, expr)
        return found

    def _const(self, expr: Const) -> ir.Value:
        return self.constant(expr.dtype, expr.value, expr.place)

    def _argument(self, expr: ArgValue) -> ir.Value:
        return self.values[expr.arg]

    def _load(self, expr: Load) -> ir.Value:
        name, operands, attributes = self.access(expr.var, expr.indices, expr.place)
        attributes["from"] = self.types.string(expr.var.name or "array")
        if is_unsigned(expr.dtype):
            attributes["unsigned"] = self.types.unit
        return self.value_op(
            f"{name}.load", self.types.scalar(expr.dtype), operands, expr.place, attributes
        )

    def _binary(self, expr: Binary) -> ir.Value:
        operands = [self.emit(expr.lhs), self.emit(expr.rhs)]
        name = operation_name(expr.op, expr.dtype)
        if name == "arith.negf":
            operands = operands[:1]
        return self.value_op(name, self.types.scalar(expr.dtype), operands, expr.place)

    def _compare(self, expr: Compare) -> ir.Value:
        operands = [self.emit(expr.lhs), self.emit(expr.rhs)]
        name, predicate = comparison(expr.op, expr.lhs.dtype)
        attributes = {"predicate": self.types.integer(predicate, 64)}
        return self.value_op(name, self.types.scalar(ops.BOOL), operands, expr.place, attributes)

    def _select(self, expr: Select) -> ir.Value:
        operands = [self.emit(expr.condition), self.emit(expr.then), self.emit(expr.other)]
        return self.value_op("arith.select", self.types.scalar(expr.dtype), operands, expr.place)

    def _math(self, expr: Math) -> ir.Value:
        operands = [self.emit(a) for a in expr.args]
        return self.value_op(
            f"math.{expr.function}", self.types.scalar(expr.dtype), operands, expr.place
        )

    def _bitcast(self, expr: Bitcast) -> ir.Value:
        return self.value_op(
            "arith.bitcast", self.types.scalar(expr.dtype), [self.emit(expr.value)], expr.place
        )

    def _call_result(self, expr: CallResult) -> ir.Value:
        return self.values[expr.call][expr.position]

    def _computed(self, expr: Computed) -> ir.Value:
        return self.values[expr.source]

    def _got(self, expr: StreamGet) -> ir.Value:
        return self.values[expr.get]

    def _tried(self, expr: Tried) -> ir.Value:
        return self.values[expr.source][expr.position]

    def _cast(self, expr: Cast) -> ir.Value:
        value, source = self.emit(expr.value), expr.value.dtype
        if isinstance(source, Index) and isinstance(expr.dtype, Float):
            # A narrower integer of the same value makes a smaller conversion.
            source = _I32 if within(ops.value_range(expr.value), range_of(_I32)) else _I64
            value = self.cast(value, expr.value.dtype, source, expr.place)
        return self.cast(value, source, expr.dtype, expr.place)

    def cast(
        self, value: ir.Value, source: AlloType, target: AlloType, place: SourcePlace
    ) -> ir.Value:
        """Convert between scalar types; bits that mean the same stay as they are."""
        for name, step in cast_steps(source, target):
            value = self.value_op(name, self.types.scalar(step), [value], place)
        return value

    # --- subscripts -----------------------------------------------------------------------------

    def access(
        self, var: Var, indices: Sequence[Subscript], place: SourcePlace
    ) -> tuple[str, list[ir.Value], dict[str, ir.Attribute]]:
        """(dialect, operands, attributes) of a load or store of ``var[indices]``."""
        memory = self.values[var]
        if all(is_affine(i) for i in indices):
            operands, affine_map = self.affine_map(indices)  # type: ignore[arg-type]
            return "affine", [memory, *operands], {"map": affine_map}
        return "memref", [memory, *(self.subscript(i, place) for i in indices)], {}

    def affine_map(self, results: Sequence[Affine]) -> tuple[list[ir.Value], ir.Attribute]:
        """(operands, map) of affine expressions."""
        dims, symbols = atoms_of(results)
        exprs = [affine_expr(r, dims, symbols) for r in results]
        mapping = ir.AffineMap.get(len(dims), len(symbols), exprs)
        return self.atom_values(dims, symbols), ir.AffineMapAttr.get(mapping)

    def atom_values(self, dims: Sequence[Iter], symbols: Sequence[Symbol]) -> list[ir.Value]:
        """The operands of a map: iterators, then symbols."""
        return [self.values[d] for d in dims] + [self.symbol(s) for s in symbols]

    def symbol(self, symbol: Symbol) -> ir.Value:
        """A scalar argument as an index, converted once at the top of the function."""
        found = self.values.get(symbol)
        if found is None:
            dtype = symbol.arg.dtype
            found = self.values[symbol.arg]
            for name, step in cast_steps(dtype, ops.INDEX):
                found = self.at_entry(name, self.types.scalar(step), [found], symbol.arg.place)
            self.values[symbol] = found
        return found

    def subscript(self, value: Subscript, place: SourcePlace) -> ir.Value:
        """A subscript as a value of type index."""
        if isinstance(value, Affine):
            return self.affine_value(value, place)
        return self.emit(value)

    def _index_value(self, expr: IndexValue) -> ir.Value:
        return self.affine_value(expr.affine, expr.place)

    def affine_value(self, value: Affine, place: SourcePlace) -> ir.Value:
        """The value of an affine expression."""
        if value.is_constant:
            return self.constant(ops.INDEX, value.const, place)
        if value.const == 0 and len(value.terms) == 1 and value.terms[0][1] == 1:
            atom = value.terms[0][0]
            if isinstance(atom, Iter):
                return self.values[atom]
            if isinstance(atom, Symbol):
                return self.symbol(atom)
        if is_affine(value):
            operands, affine_map = self.affine_map([value])
            return self.value_op(
                "affine.apply", self.types.index, operands, place, {"map": affine_map}
            )
        return self._index_arithmetic(value, place)

    def _index_arithmetic(self, value: Affine, place: SourcePlace) -> ir.Value:
        """An affine expression of iterators that affine operations may not use."""
        total: ir.Value | None = None
        for atom, coefficient in value.terms:
            term = self._atom(atom, place)
            if coefficient != 1:
                factor = self.constant(ops.INDEX, coefficient, place)
                term = self.value_op("arith.muli", self.types.index, [term, factor], place)
            total = term if total is None else self._add(total, term, place)
        if value.const or total is None:
            constant = self.constant(ops.INDEX, value.const, place)
            total = constant if total is None else self._add(total, constant, place)
        return total

    def _add(self, a: ir.Value, b: ir.Value, place: SourcePlace) -> ir.Value:
        return self.value_op("arith.addi", self.types.index, [a, b], place)

    def _atom(self, atom: Any, place: SourcePlace) -> ir.Value:
        if isinstance(atom, Iter):
            return self.values[atom]
        if isinstance(atom, Symbol):
            return self.symbol(atom)
        inner = self.affine_value(atom.value, place)
        divisor = self.constant(ops.INDEX, atom.divisor, place)
        quotient = self.value_op("arith.floordivsi", self.types.index, [inner, divisor], place)
        if isinstance(atom, FloorDiv):
            return quotient
        product = self.value_op("arith.muli", self.types.index, [quotient, divisor], place)
        return self.value_op("arith.subi", self.types.index, [inner, product], place)


_I32, _I64 = Int(32), Int(64)


_EMITTERS: dict[type, Callable[[ValueEmitter, Any], ir.Value]] = {
    Const: ValueEmitter._const,
    IndexValue: ValueEmitter._index_value,
    ArgValue: ValueEmitter._argument,
    Load: ValueEmitter._load,
    Binary: ValueEmitter._binary,
    Compare: ValueEmitter._compare,
    Select: ValueEmitter._select,
    Cast: ValueEmitter._cast,
    Math: ValueEmitter._math,
    Bitcast: ValueEmitter._bitcast,
    CallResult: ValueEmitter._call_result,
    Computed: ValueEmitter._computed,
    StreamGet: ValueEmitter._got,
    Tried: ValueEmitter._tried,
}
