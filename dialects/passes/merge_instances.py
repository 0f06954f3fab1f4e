"""Instances of a kernel that stayed alike become one function.

Every instance of a kernel, and every process that ``unfold`` copies, is a function of its own: a systolic
array of 64×64 is 4,096 functions of the same code, which later tools would compile one by one. Those that
differ in names alone, or in constants too where a target asks for it, become the first of them. It then
takes the constants as arguments. A call that is redirected keeps the name of the function
that it called in its attribute ``instance``, so that messages and reports name the instance.

Assumes core IR; leaves core IR. What differs in more (loop bounds, shapes, tables) stays as it is. The
hardware build, which gives each call a label of its own and compiles equal functions once, asks
`equal_functions` (``core/fingerprint.py``) and leaves the calls as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from .._mlir import affine, arith, func, ir, memref
from ..affine.loops import walk
from ..checked import module_pass
from ..core.fingerprint import Fingerprint
from ..core.locations import place_of
from ..core.signature import (
    callee_of,
    entry_of,
    functions_of,
    sign,
    signature_of,
    symbol,
)

INSTANCE = "instance"
"""Attribute of a call: the name of the function that stood for this instance alone."""

MOST_CONSTANTS = 32
"""Functions that differ in more constants than this stay."""


@module_pass
def merge_instances(
    module: ir.Module, candidates: Sequence[str], *, at_least: int, constants: bool = False
) -> None:
    """Merge the functions named ``candidates`` that are alike, in place.

    They are taken in order, so callers of functions that became one may follow where callees come first.

    Args:
        at_least: as many as this must be alike, otherwise they stay.
        constants: let functions differ in constants, subscripts included. Then nobody is expected
            to read the text; without it, merged functions also have one place and names of arguments.
    """
    functions = functions_of(module)
    buckets: dict[Hashable, list[ir.Operation]] = defaultdict(list)
    for name in candidates:
        function = functions[name]
        size = len(entry_of(function).operations)
        buckets[function.attributes["function_type"], size].append(function)
    with module.context, ir.Location.unknown():
        for bucket in buckets.values():
            if len(bucket) >= at_least:
                _merge_alike(module, bucket, at_least, constants=constants)


def _merge_alike(
    module: ir.Module, bucket: Sequence[ir.Operation], at_least: int, *, constants: bool
) -> None:
    groups: dict[Hashable, list[Fingerprint]] = defaultdict(list)
    for function in bucket:
        if constants:
            _spell_out_subscripts(function)
        instance = Fingerprint(function, constants=constants, places=True)
        read = () if constants else (place_of(function), signature_of(function).names)
        groups[instance.key, read].append(instance)
    for group in groups.values():
        if len(group) >= at_least:
            _merge(module, group)


def _merge(module: ir.Module, group: list[Fingerprint]) -> None:
    values = [[op.attributes["value"] for op in instance.constants] for instance in group]
    varying = [i for i, column in enumerate(zip(*values, strict=True)) if len(set(column)) > 1]
    if len(varying) > MOST_CONSTANTS:
        return
    given = {
        symbol(instance.function): [row[i] for i in varying]
        for instance, row in zip(group, values, strict=True)
    }
    kept = group[0]
    if varying:
        _take_constants(kept, varying)
    _redirect(module, symbol(kept.function), given)
    for instance in group[1:]:
        instance.function.erase()


def _take_constants(instance: Fingerprint, varying: list[int]) -> None:
    """Make constants of a function its last arguments."""
    function, signature = instance.function, signature_of(instance.function)
    names, declared = list(signature.names), list(signature.declared)
    for number, position in enumerate(varying):
        constant = instance.constants[position]
        argument = entry_of(function).add_argument(constant.results[0].type, constant.location)
        constant.results[0].replace_all_uses_with(argument)
        constant.erase()
        names.append(f"constant_{number}")
        declared.append(str(argument.type) if any(signature.declared) else "")
    sign(function, names, declared)


def _redirect(module: ir.Module, kept: str, given: dict[str, list[ir.Attribute]]) -> None:
    """Let every call of a function of ``given`` call ``kept`` with the constants behind its operands."""
    calls = [
        op for op in walk(module.operation) if op.name == "func.call" and callee_of(op) in given
    ]
    for call in calls:
        name = callee_of(call)
        if given[name]:
            call = _with_operands(call, given[name])
        call.attributes["callee"] = ir.FlatSymbolRefAttr.get(kept)
        if name != kept:
            call.attributes[INSTANCE] = ir.StringAttr.get(name)


def _with_operands(call: ir.Operation, added: list[ir.Attribute]) -> ir.Operation:
    """The call anew, with constants behind its operands."""
    with ir.InsertionPoint(call), call.location:
        extra = [arith.ConstantOp(value.type, value).result for value in added]
        results = [result.type for result in call.results]
        made = func.CallOp(results, callee_of(call), [*call.operands, *extra]).operation
    for name in call.attributes:
        made.attributes[name] = call.attributes[name]
    for old, new in zip(call.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    call.erase()
    return made


# --- subscripts -----------------------------------------------------------------------------------


def _spell_out_subscripts(function: ir.Operation) -> None:
    """Make the constants of affine subscripts constants of the function."""
    accesses = [op for op in walk(function) if op.name in ("affine.load", "affine.store")]
    for op in accesses:
        subscripts = op.attributes["map"].value
        if any(_has_constant(expr) for expr in subscripts.results):
            _spell_out(op, subscripts)


def _has_constant(expr: ir.AffineExpr) -> bool:
    if isinstance(expr, ir.AffineConstantExpr):
        return True
    return isinstance(expr, ir.AffineAddExpr) and isinstance(expr.rhs, ir.AffineConstantExpr)


def _spell_out(op: ir.Operation, subscripts: ir.AffineMap) -> None:
    loads = op.name == "affine.load"
    position = 0 if loads else 1
    array, operands = op.operands[position], list(op.operands)[position + 1 :]
    with ir.InsertionPoint(op), op.location:
        index = [_subscript(expr, subscripts, operands) for expr in subscripts.results]
        if not loads:
            made = memref.StoreOp(op.operands[0], array, index).operation
        else:
            made = memref.LoadOp(array, index).operation
            op.results[0].replace_all_uses_with(made.results[0])
    for name in op.attributes:
        if name != "map":
            made.attributes[name] = op.attributes[name]
    op.erase()


def _subscript(expr: ir.AffineExpr, whole: ir.AffineMap, operands: list[ir.Value]) -> ir.Value:
    if isinstance(expr, ir.AffineConstantExpr):
        return arith.ConstantOp(ir.IndexType.get(), expr.value).result
    if isinstance(expr, ir.AffineDimExpr):
        return operands[expr.position]
    if _has_constant(expr):
        base = _subscript(expr.lhs, whole, operands)
        return arith.AddIOp(base, _subscript(expr.rhs, whole, operands)).result
    alone = ir.AffineMap.get(whole.n_dims, whole.n_symbols, [expr])
    return affine.AffineApplyOp(ir.AffineMapAttr.get(alone), operands).result
