"""A nest as a function of its own, with a call in its place."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import is_defined_inside, string_attribute, walk
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import (
    callee_of,
    declared_type,
    entry_of,
    functions_of,
    sign,
    signature_of,
    string_array,
    symbol,
)
from allo.dialects.diagnostics import ScheduleError
from allo.dialects.text.free_name import free_name
from allo.dialects.types import parse_type, signedness_letter
from allo.frontend.kernel_module import FunctionInfo, ValueInfo
from allo.schedule.bands import Band

from ..state import ModelState


def outline(s: ModelState, caller: ir.Operation, band: Band) -> ir.Operation:
    """Move a nest of a function into a new one; the call in its place.

    Raises:
        ScheduleError: the nest writes several arrays, or one that others write or read before it.
    """
    result = _written(s, caller, band)
    outside = [v for v in _captured(band.root) if v != result.result]
    arrays = [v for v in outside if isinstance(v.type, ir.MemRefType) and not _is_constant(v)]
    taken = s.weights_of.get(symbol(caller), [])
    count = len(entry_of(caller).arguments) - len(taken)
    arrays.sort(key=lambda v: isinstance(v, ir.BlockArgument) and v.arg_number >= count)
    name = free_name(f"{symbol(caller)}_{band.name}", functions_of(s.module))
    if taken:
        weights = [v for v in arrays if isinstance(v, ir.BlockArgument) and v.arg_number >= count]
        s.weights_of[name] = [taken[v.arg_number - count] for v in weights]
    call = ir.Operation.create(
        "func.call",
        results=[result.result.type],
        operands=arrays,
        attributes={
            "callee": ir.FlatSymbolRefAttr.get(name),
            "name": result.attributes["name"],
        },
        loc=band.root.location,
        ip=ir.InsertionPoint(band.root),
    )
    function = _function(s, caller, name, arrays, result)
    result.result.replace_all_uses_with(call.results[0])
    end = ir.Operation.create(
        "func.return",
        operands=[result.result],
        loc=band.root.location,
        ip=ir.InsertionPoint(entry_of(function)),
    )
    values = dict(zip(arrays, entry_of(function).arguments, strict=True))
    for value in outside:
        if value not in values:
            copy = value.owner.operation.clone(ir.InsertionPoint(end)).operation
            values[value] = copy.results[list(value.owner.operation.results).index(value)]
    values[call.results[0]] = result.result
    result.move_before(end)
    band.root.move_before(end)
    for op in (band.root, *walk(band.root)):
        for position, operand in enumerate(op.operands):
            if operand in values:
                op.operands[position] = values[operand]
    names = [str(n) for n in signature_of(function).names]
    declared = signature_of(function).declared
    sign(function, names, declared)
    return call


def _written(s: ModelState, caller: ir.Operation, band: Band) -> ir.Operation:
    """The allocation of the one array that a nest makes."""
    effects = EffectAnalysis(s.module.operation)
    inside = [band.root, *walk(band.root)]
    keys = {e.memory.key for op in inside for e in effects.effects_of(op) if e.writes}
    made = [op.operation for op in entry_of(caller).operations]
    before = made[: made.index(band.root)]
    found = [op for op in made if op.name == "memref.alloc" and op.result in keys]
    local = {op.result for op in inside if op.name == "memref.alloc"}
    if len(found) == 1 and keys - local == {found[0].result}:
        users = {_root(use.owner.operation, made) for use in found[0].result.uses}
        writers = {
            root
            for root in users
            for op in (root, *walk(root))
            for e in effects.effects_of(op)
            if e.writes and e.memory.key == found[0].result
        }
        if writers == {band.root} and not users.intersection(before):
            return found[0]
    raise ScheduleError(
        f"Nest {band.name} cannot be fused with a module: it does not make one array that is its own.",
        place_of(band.root),
        help="fuse a nest whose result nothing else writes.",
    )


def _root(op: ir.Operation, roots: list[ir.Operation]) -> ir.Operation:
    while op not in roots:
        op = op.parent.operation
    return op


def _captured(nest: ir.Operation) -> list[ir.Value]:
    """The values from outside that a nest uses."""
    found = []
    for op in (nest, *walk(nest)):
        for operand in op.operands:
            if operand not in found and not is_defined_inside(operand, nest):
                found.append(operand)
    return found


def _is_constant(value: ir.Value) -> bool:
    return not isinstance(value, ir.BlockArgument) and (
        value.owner.operation.name == "memref.get_global"
    )


def _function(
    s: ModelState,
    caller: ir.Operation,
    name: str,
    arrays: list[ir.Value],
    result: ir.Operation,
) -> ir.Operation:
    """The function without its body, and what is known of it."""
    names: list[str] = []
    for value in arrays:
        wanted = _name(caller, value)
        names.append(wanted if wanted not in names else f"{wanted}_{len(names)}")
    declared = [_declared(s, caller, value) for value in arrays]
    returned = declared_type(caller, result.result)
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(
            ir.FunctionType.get([v.type for v in arrays], [result.result.type])
        ),
        "arg_names": string_array(names),
        "arg_types": string_array(declared),
        "itypes": ir.StringAttr.get("".join(signedness_letter(parse_type(d)) for d in declared)),
        "res_types": string_array([returned]),
        "otypes": ir.StringAttr.get(signedness_letter(parse_type(returned))),
    }
    location = caller.location
    function = ir.Operation.create(
        "func.func", attributes=attributes, regions=1, loc=location, ip=ir.InsertionPoint(caller)
    )
    kinds = [value.type for value in arrays]
    function.regions[0].blocks.append(*kinds, arg_locs=[location] * len(kinds))
    args = [
        ValueInfo(each, parse_type(text), tuple(ir.MemRefType(kind).shape))
        for each, text, kind in zip(names, declared, kinds, strict=True)
    ]
    results = [ValueInfo("", parse_type(returned), tuple(ir.MemRefType(result.result.type).shape))]
    s.kernel.functions[name] = FunctionInfo(name, name, args=args, results=results)
    return function


def _name(caller: ir.Operation, value: ir.Value) -> str:
    if isinstance(value, ir.BlockArgument):
        return signature_of(caller).name(value.arg_number)
    return (string_attribute(value.owner, "name") or "x").split(",")[0].strip()


def _declared(s: ModelState, caller: ir.Operation, value: ir.Value) -> str:
    if not isinstance(value, ir.BlockArgument) and value.owner.operation.name == "func.call":
        call = value.owner.operation
        returned = signature_of(functions_of(s.module)[callee_of(call)]).returned
        text = returned[list(call.results).index(value)]
        if text:
            return text
    return declared_type(caller, value)
