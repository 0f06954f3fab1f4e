"""Emission of a whole module."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import VerificationError
from allo.dialects.types import signedness_letter

from ..checks.strides import propagate
from ..kernel_module import FunctionInfo
from ..rules.fixed import is_fixed
from ..tree import Declare, For, Function, If, Stmt, Var, While
from .dense import dense_elements
from .functions import FunctionEmitter, signature
from .mlir_types import TypeCache, is_unsigned


def emit_module(
    context: ir.Context,
    functions: Sequence[Function],
    declarations: Sequence[FunctionInfo] = (),
) -> ir.Module:
    """The core IR of elaborated functions, callees first."""
    propagate(functions)
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        types = TypeCache(context)
        ip = ir.InsertionPoint(module.body)
        for var in _global_variables(functions):
            _emit_global(types, var, ip)
        signatures = {f.name: signature(types, f) for f in functions}
        for info in declarations:
            signatures[info.name] = _declare(types, info, ip)
        for function in functions:
            FunctionEmitter(types, signatures, function).emit(ip)
        _verify(module)
    return module


def _verify(module: ir.Module) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise VerificationError(
            f"The frontend made core IR that MLIR refuses: {error}",
            help="this is a fault of Allo; please report it with the kernel.",
        ) from error


def _global_variables(functions: Sequence[Function]) -> list[Var]:
    """One variable for each global symbol."""
    found: dict[str, Var] = {}
    for function in functions:
        for var in (*function.globals, *_declared(function.body)):
            if var.symbol:
                found.setdefault(var.symbol, var)
    return list(found.values())


def _declared(statements: Sequence[Stmt]) -> list[Var]:
    found: list[Var] = []
    for statement in statements:
        if isinstance(statement, Declare):
            found.append(statement.var)
        elif isinstance(statement, For):
            found += _declared(statement.body)
        elif isinstance(statement, If):
            found += _declared(statement.then) + _declared(statement.other)
        elif isinstance(statement, While):
            found += _declared(statement.body)
    return found


def _emit_global(types: TypeCache, var: Var, ip: ir.InsertionPoint) -> None:
    memref = types.memref(var)
    attributes = {
        "sym_name": types.string(var.symbol),
        "sym_visibility": types.string("private"),
        "type": ir.TypeAttr.get(memref),
        "initial_value": dense_elements(var.init, var.dtype, types.scalar(var.dtype), var.shape),
    }
    if var.kind != "stateful":
        attributes["constant"] = types.unit
    if is_fixed(var.dtype):
        attributes["dtype"] = types.string(var.dtype.name)
    if is_unsigned(var.dtype):
        attributes["unsigned"] = types.unit
    ir.Operation.create(
        "memref.global", attributes=attributes, loc=types.location(var.place), ip=ip
    )


def _declare(
    types: TypeCache, info: FunctionInfo, ip: ir.InsertionPoint
) -> tuple[list[ir.Type], list[ir.Type]]:
    """A private declaration of an external function."""
    inputs = [
        types.memref_of(a.shape, a.dtype) if a.shape else types.scalar(a.dtype) for a in info.args
    ]
    attributes = {
        "sym_name": types.string(info.name),
        "sym_visibility": types.string("private"),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, [])),
        "arg_names": types.strings([a.name for a in info.args]),
        "arg_types": types.strings([a.dtype.name for a in info.args]),
        "res_types": types.strings([]),
        "itypes": types.string("".join(signedness_letter(a.dtype) for a in info.args)),
        "otypes": types.string(""),
        "external": types.unit,
    }
    place = info.place
    location = types.location(place) if place else ir.Location.unknown()
    ir.Operation.create("func.func", attributes=attributes, regions=1, loc=location, ip=ip)
    return inputs, []
