"""Merge kernel instances that differ only in constants.

Each instance of a kernel is a function of its own, in which the instance's coordinates are constants. A
systolic array of 64×64 is then 4,096 functions of the same code, and LLVM takes 10 ms for each. Here
functions that are equal but for constants become one, which takes those constants as arguments.

Assumes core IR; leaves core IR. Small families and functions that differ in more than constants
(loop bounds, shapes) stay as they are. A call that is redirected keeps the name of the
instance in its attribute ``instance``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from allo.dialects._mlir import affine, arith, func, ir, memref
from allo.dialects.affine.loops import walk
from allo.dialects.core.fingerprint import Fingerprint
from allo.dialects.core.signature import callee_of, function_type, symbol

from .prepare import definitions_of

FAMILY = 8
"""Instances from which on merging pays."""

MOST_ARGUMENTS = 32
"""A family that differs in more constants than this stays."""


def merge_instances(module: ir.Module, top: str) -> int:
    """Merge what can be merged, in place; callees first, so that their callers may follow.

    Returns:
        The number of functions that are gone.
    """
    gone = 0
    with module.context, ir.Location.unknown():
        for bucket in _buckets(module, top):
            groups: dict[Hashable, list[Fingerprint]] = defaultdict(list)
            for function in bucket:
                _spell_out_subscripts(function)
                instance = Fingerprint(function.operation, constants=True, places=True)
                groups[instance.key].append(instance)
            for group in groups.values():
                if len(group) >= FAMILY:
                    gone += _merge(module, group)
    return gone


def _buckets(module: ir.Module, top: str) -> list[list[func.FuncOp]]:
    """Functions of one type and length, where there are enough of them."""
    found: dict[Hashable, list[func.FuncOp]] = defaultdict(list)
    for function in definitions_of(module):
        if function.name.value == top or "region" in function.attributes:
            continue
        block = function.regions[0].blocks[0]
        found[(function.attributes["function_type"], len(block.operations))].append(function)
    return [bucket for bucket in found.values() if len(bucket) >= FAMILY]


def _spell_out_subscripts(function: func.FuncOp) -> None:
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
            memref.StoreOp(op.operands[0], array, index)
        else:
            op.results[0].replace_all_uses_with(memref.LoadOp(array, index).result)
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


def _merge(module: ir.Module, group: list[Fingerprint]) -> int:
    values = [[op.attributes["value"] for op in instance.constants] for instance in group]
    varying = [i for i, column in enumerate(zip(*values, strict=True)) if len(set(column)) > 1]
    if len(varying) > MOST_ARGUMENTS:
        return 0
    given = {
        symbol(instance.function): [row[i] for i in varying]
        for instance, row in zip(group, values, strict=True)
    }
    kept = group[0]
    _take_constants(kept, varying)
    _redirect(module, symbol(kept.function), given)
    for instance in group[1:]:
        instance.function.erase()
    return len(group) - 1


def _take_constants(instance: Fingerprint, varying: list[int]) -> None:
    function = instance.function
    block = function.regions[0].blocks[0]
    kinds = []
    for position in varying:
        constant = instance.constants[position]
        argument = block.add_argument(constant.results[0].type, constant.location)
        constant.results[0].replace_all_uses_with(argument)
        kinds.append(argument.type)
        constant.erase()
    old = function_type(function)
    new = ir.FunctionType.get([*old.inputs, *kinds], old.results)
    function.attributes["function_type"] = ir.TypeAttr.get(new)
    for name in ("arg_attrs", "arg_names", "arg_types", "itypes"):
        if name in function.attributes:
            del function.attributes[name]


def _redirect(module: ir.Module, kept: str, given: dict[str, list[ir.Attribute]]) -> None:
    calls = [
        op
        for function in definitions_of(module)
        for op in walk(function)
        if op.name == "func.call" and callee_of(op) in given
    ]
    for call in calls:
        name = callee_of(call)
        with ir.InsertionPoint(call), call.location:
            added = [arith.ConstantOp(value.type, value).result for value in given[name]]
            results = [result.type for result in call.results]
            new = func.CallOp(results, kept, [*call.operands, *added])
            new.attributes["instance"] = ir.StringAttr.get(name)
        for old, replacement in zip(call.results, new.operation.results, strict=True):
            old.replace_all_uses_with(replacement)
        call.erase()
