"""Emission of functions and statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.core.prints import PRINT
from allo.dialects.diagnostics import CompileTimeError, SourcePlace
from allo.dialects.internal import foreseen
from allo.dialects.types import Struct, signedness_letter

from ..affine import Affine, ScalarArg
from ..checks.strides import view_strides
from ..rules.fixed import is_fixed
from ..tree import (
    AffineCondition,
    Call,
    Compute,
    Copy,
    Declare,
    Effect,
    Fill,
    For,
    Function,
    If,
    Return,
    Stmt,
    Store,
    StreamRef,
    Var,
    View,
    While,
)
from .affine_maps import affine_expr, atoms_of
from .mlir_types import TypeCache, is_unsigned
from .streams import STREAM_EMITTERS
from .values import ValueEmitter

Signature = tuple[list[ir.Type], list[ir.Type]]


def parameter_type(types: TypeCache, parameter: Var | ScalarArg | StreamRef) -> ir.Type:
    """The MLIR type of an argument."""
    if isinstance(parameter, Var):
        return types.memref(parameter)
    if isinstance(parameter, StreamRef):
        return types.index
    return types.scalar(parameter.dtype)


def signature(types: TypeCache, function: Function) -> Signature:
    """(argument types, result types) of a function."""
    inputs = [parameter_type(types, p) for p in function.params]
    returned = next((s for s in function.body if isinstance(s, Return)), None)
    results = []
    for position, (dtype, _) in enumerate(function.results):
        value = returned.values[position] if returned else None
        results.append(types.memref(value) if isinstance(value, Var) else types.scalar(dtype))
    return inputs, results


def function_attributes(types: TypeCache, function: Function) -> dict[str, ir.Attribute]:
    """Names and declared types of arguments and results, as the contract asks."""
    arg_types = [p.dtype for p in function.params]
    res_types = [dtype for dtype, _ in function.results]
    attributes = {
        "arg_names": types.strings([p.name for p in function.params]),
        "arg_types": types.strings([t.name for t in arg_types]),
        "res_types": types.strings([t.name for t in res_types]),
        "itypes": types.string("".join(map(signedness_letter, arg_types))),
        "otypes": types.string("".join(map(signedness_letter, res_types))),
    }
    for key, value in function.attributes.items():
        attributes[key] = types.unit if value is True else value
        if isinstance(value, dict):
            texts = {name: types.string(text) for name, text in value.items()}
            attributes[key] = ir.DictAttr.get(texts)
    return attributes


class FunctionEmitter:
    """Emits one function into a module."""

    def __init__(
        self, types: TypeCache, signatures: dict[str, Signature], function: Function
    ) -> None:
        self.types = types
        self.signatures = signatures
        self.function = function

    def emit(self, ip: ir.InsertionPoint) -> ir.Operation:
        """Create the ``func.func`` at ``ip``."""
        types, function = self.types, self.function
        inputs, results = self.signatures[function.name]
        attributes = function_attributes(types, function)
        attributes["sym_name"] = types.string(function.name)
        attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
        assert function.place is not None
        op = ir.Operation.create(
            "func.func",
            attributes=attributes,
            regions=1,
            loc=types.location(function.place),
            ip=ip,
        )
        locations = [types.location(p.place) for p in function.params]
        block = op.regions[0].blocks.append(*inputs, arg_locs=locations)
        self.value = ValueEmitter(types, block)
        for parameter, argument in zip(function.params, block.arguments, strict=True):
            self.value.values[parameter] = argument
        for var in function.globals:
            self._global(var)
        self.block(function.body)
        return op

    def block(self, statements: Sequence[Stmt]) -> None:
        """Emit statements at the current point."""
        for statement in statements:
            self.value.begin_statement()
            with foreseen("Writing this statement", getattr(statement, "place", None)):
                _EMITTERS[type(statement)](self, statement)

    def _region(
        self, op: ir.Operation, index: int, place: SourcePlace, args: Sequence[ir.Type] = ()
    ) -> ir.Block:
        location = self.types.location(place)
        return op.regions[index].blocks.append(*args, arg_locs=[location] * len(args))

    def _inside(
        self, block: ir.Block, statements: Sequence[Stmt], terminator: str, place: SourcePlace
    ) -> None:
        value = self.value
        before, value.ip = value.ip, ir.InsertionPoint(block)
        self.block(statements)
        value.op(terminator, [], [], place)
        value.ip = before

    # --- storage ---------------------------------------------------------------------------------

    def _global(self, var: Var) -> None:
        value = self.value
        attributes = {"name": ir.FlatSymbolRefAttr.get(var.symbol)}
        if is_unsigned(var.dtype):
            attributes["unsigned"] = self.types.unit
        memref = self.types.memref(var)
        op = value.op("memref.get_global", [memref], [], var.place, attributes)
        self.value.values[var] = op.results[0]

    def _declare(self, statement: Declare) -> None:
        var = statement.var
        if var.kind == "const":
            self._global(var)
            return
        value = self.value
        attributes = {
            "name": self.types.string(var.name or "array"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
        }
        if is_fixed(var.dtype) or isinstance(var.dtype, Struct):
            attributes["dtype"] = self.types.string(var.dtype.name)
        elif is_unsigned(var.dtype):
            attributes["unsigned"] = self.types.unit
        memref = self.types.memref(var)
        value.values[var] = value.value_op("memref.alloc", memref, [], statement.place, attributes)
        if var.symbol:
            source = Var(var.name, var.dtype, var.shape, "const", var.place, var.memory, var.symbol)
            self._global(source)
            value.op("memref.copy", [], [value.values[source], value.values[var]], statement.place)

    def _fill(self, statement: Fill) -> None:
        value = self.value
        scalar, memory = value.emit(statement.value), value.values[statement.var]
        op = value.op(
            "linalg.fill",
            [],
            [scalar, memory],
            statement.place,
            {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1])},
            regions=1,
        )
        location = self.types.location(statement.place)
        block = op.regions[0].blocks.append(scalar.type, scalar.type, arg_locs=[location] * 2)
        ir.Operation.create(
            "linalg.yield",
            operands=[block.arguments[0]],
            loc=location,
            ip=ir.InsertionPoint(block),
        )

    def _copy(self, statement: Copy) -> None:
        value = self.value
        operands = [value.values[statement.source], value.values[statement.target]]
        value.op("memref.copy", [], operands, statement.place)

    def _store(self, statement: Store) -> None:
        value = self.value
        stored = value.emit(statement.value)
        name, operands, attributes = value.access(statement.var, statement.indices, statement.place)
        attributes["to"] = self.types.string(statement.var.name or "array")
        if is_unsigned(statement.var.dtype):
            attributes["unsigned"] = self.types.unit
        value.op(f"{name}.store", [], [stored, *operands], statement.place, attributes)

    # --- control -----------------------------------------------------------------------------------

    def _for(self, statement: For) -> None:
        if statement.iter.affine:
            op = self._affine_for(statement)
            terminator = "affine.yield"
        else:
            op = self._scf_for(statement)
            terminator = "scf.yield"
        for key, attribute in self._loop_attributes(statement).items():
            op.attributes[key] = attribute
        block = self._region(op, 0, statement.place, [self.types.index])
        self.value.values[statement.iter] = block.arguments[0]
        self._inside(block, statement.body, terminator, statement.place)

    def _affine_for(self, statement: For) -> ir.Operation:
        value = self.value
        assert isinstance(statement.step, Affine)
        if statement.step.const >= 1 << 63:
            raise CompileTimeError(
                "The step of this loop does not fit index (64 bits).",
                help="the loop has one iteration at most: write an if, or its body, without the loop.",
            )
        lower, lower_map = value.affine_map(statement.lower)  # type: ignore[arg-type]
        upper, upper_map = value.affine_map(statement.upper)  # type: ignore[arg-type]
        attributes = {
            "lowerBoundMap": lower_map,
            "upperBoundMap": upper_map,
            "step": ir.IntegerAttr.get(self.types.index, statement.step.const),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(lower), len(upper), 0]),
        }
        return value.op("affine.for", [], [*lower, *upper], statement.place, attributes, 1)

    def _scf_for(self, statement: For) -> ir.Operation:
        value = self.value
        bounds = [
            value.subscript(bound, statement.place)
            for bound in (statement.lower[0], statement.upper[0], statement.step)
        ]
        return value.op("scf.for", [], bounds, statement.place, None, 1)

    def _loop_attributes(self, statement: For) -> dict[str, ir.Attribute]:
        types = self.types
        attributes = {"loop_name": types.string(statement.loop_name)}
        if statement.op_name is not None:
            attributes["op_name"] = types.string(statement.op_name)
        if statement.reduction:
            attributes["reduction"] = types.unit
        if statement.pipeline is not None:
            attributes["pipeline_ii"] = types.unsigned_integer(statement.pipeline)
        if statement.unroll is not None:
            attributes["unroll"] = types.integer(statement.unroll)
        return attributes

    def _if(self, statement: If) -> None:
        value, place = self.value, statement.place
        if isinstance(statement.condition, AffineCondition):
            op = self._affine_if(statement.condition, place)
            terminator = "affine.yield"
        else:
            condition = value.emit(statement.condition)
            op = value.op("scf.if", [], [condition], place, None, 2)
            terminator = "scf.yield"
        self._inside(self._region(op, 0, place), statement.then, terminator, place)
        if statement.other:
            self._inside(self._region(op, 1, place), statement.other, terminator, place)

    def _affine_if(self, condition: AffineCondition, place: SourcePlace) -> ir.Operation:
        value = self.value
        exprs = [e for e, _ in condition.constraints]
        dims, symbols = atoms_of(exprs)
        integer_set = ir.IntegerSet.get(
            len(dims),
            len(symbols),
            [affine_expr(e, dims, symbols) for e in exprs],
            [is_equality for _, is_equality in condition.constraints],
        )
        attribute = ir.IntegerSetAttr.get(integer_set)
        operands = value.atom_values(dims, symbols)
        return value.op("affine.if", [], operands, place, {"condition": attribute}, 2)

    def _while(self, statement: While) -> None:
        value, place = self.value, statement.place
        op = value.op("scf.while", [], [], place, None, 2)
        before, value.ip = value.ip, ir.InsertionPoint(self._region(op, 0, place))
        self.block(statement.prelude)
        value.begin_statement()
        condition = value.emit(statement.condition)
        value.op("scf.condition", [], [condition], place)
        value.ip = before
        self._inside(self._region(op, 1, place), statement.body, "scf.yield", place)

    # --- calls --------------------------------------------------------------------------------------

    def _call(self, statement: Call) -> None:
        value = self.value
        inputs, results = self.signatures[statement.callee]
        operands = [
            self._argument(argument, wanted, statement.place)
            for argument, wanted in zip(statement.args, inputs, strict=True)
        ]
        names = [v.name for v in statement.results if v is not None and v.name]
        attributes = {"callee": ir.FlatSymbolRefAttr.get(statement.callee)}
        if names:
            attributes["name"] = self.types.string(names[0])
        if statement.instance:
            attributes["instance"] = self.types.string(statement.instance)
        op = value.op("func.call", results, operands, statement.place, attributes)
        outcome = list(op.results)
        value.values[statement] = outcome
        for var, result in zip(statement.results, outcome, strict=True):
            if var is not None:
                value.values[var] = result

    def _argument(self, argument: Any, wanted: ir.Type, place: SourcePlace) -> ir.Value:
        value = self.value
        if isinstance(argument, View):
            result = self.view(argument)
        elif isinstance(argument, (Var, StreamRef)):
            result = value.values[argument]
        else:
            return value.emit(argument)
        if result.type == wanted:
            return result
        return value.value_op("memref.cast", wanted, [result], place)

    def view(self, view: View) -> ir.Value:
        """A ``memref.subview``."""
        value = self.value
        dynamic = ir.ShapedType.get_dynamic_size()
        offsets: list[int] = []
        operands: list[ir.Value] = []
        for offset in view.offsets:
            if isinstance(offset, Affine) and offset.is_constant:
                offsets.append(offset.const)
            else:
                offsets.append(dynamic)
                operands.append(value.subscript(offset, view.place))
        sizes = [1 if s is None else s for s in view.sizes]
        kept = [s for s in view.sizes if s is not None]
        strides, base = view_strides(view)
        space = 0 if view.var.memory is None else view.var.memory.get_memory_space()
        result = self.types.memref_of(kept, view.var.dtype, space, strides, base)
        attributes = {
            "static_offsets": ir.DenseI64ArrayAttr.get(offsets),
            "static_sizes": ir.DenseI64ArrayAttr.get(sizes),
            "static_strides": ir.DenseI64ArrayAttr.get(list(view.steps)),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(operands), 0, 0]),
        }
        source = value.values[view.var]
        return value.value_op("memref.subview", result, [source, *operands], view.place, attributes)

    def _compute(self, statement: Compute) -> None:
        value = self.value.values[statement] = self.value.emit(statement.value)
        if statement.index is not None:
            self.value.values[statement.index] = value

    def _return(self, statement: Return) -> None:
        value = self.value
        operands = [
            value.values[v] if isinstance(v, Var) else value.emit(v) for v in statement.values
        ]
        value.op("func.return", [], operands, statement.place)

    # --- the allo dialect ------------------------------------------------------------------------------

    def _effect(self, statement: Effect) -> None:
        value = self.value
        operands = [value.emit(o) for o in statement.operands]
        *before, last = statement.texts
        if statement.kind == "assert":
            message = {"message": self.types.string(last)}
            value.op("allo.assert", [], operands, statement.place, message)
            return
        if not operands:
            self._print([], last, "", "", statement.place)
        for number, operand in enumerate(operands):
            after = last if number == len(operands) - 1 else ""
            dtype = statement.operands[number].dtype.name
            self._print([operand], before[number], after, dtype, statement.place)

    def _print(
        self, operands: list[ir.Value], before: str, after: str, dtype: str, place: SourcePlace
    ) -> None:
        texts = {"before": before, "after": after, "dtype": dtype}
        attributes = {key: self.types.string(text) for key, text in texts.items()}
        self.value.op(PRINT, [], operands, place, attributes)


def _of_values(
    emit: Callable[[ValueEmitter, Any], None],
) -> Callable[[FunctionEmitter, Any], None]:
    return lambda emitter, statement: emit(emitter.value, statement)


_EMITTERS: dict[type, Callable[[FunctionEmitter, Any], None]] = {
    Declare: FunctionEmitter._declare,
    Fill: FunctionEmitter._fill,
    Copy: FunctionEmitter._copy,
    Store: FunctionEmitter._store,
    For: FunctionEmitter._for,
    If: FunctionEmitter._if,
    While: FunctionEmitter._while,
    Call: FunctionEmitter._call,
    Compute: FunctionEmitter._compute,
    Return: FunctionEmitter._return,
    **{kind: _of_values(emit) for kind, emit in STREAM_EMITTERS.items()},
    Effect: FunctionEmitter._effect,
}
