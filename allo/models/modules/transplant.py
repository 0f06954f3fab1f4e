"""A compiled kernel moved into the module of a model, in the place of a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.signature import (
    callee_of,
    entry_of,
    functions_of,
    sign,
    signature_of,
    symbol,
)
from allo.dialects.text.free_name import free_name
from allo.frontend.kernel_module import KernelModule

from ..text import identifier
from .alike import global_of
from .constants import drop_unused_constants
from .state import ModelState


def transplant(
    s: ModelState, made: KernelModule, call: ir.Operation, old: ir.Operation, weights: Sequence[str]
) -> ir.Operation:
    """Put the kernel that ``call`` calls in the place of ``old``; the new function.

    Its last arguments, one for each weight, become constants that it reads. What else it calls comes too.

    Args:
        s: the model's schedule.
        made: the kernel below a function that calls it, in the context of ``s``.
        call: that call.
        old: the function that goes.
        weights: the paths of the weights.
    """
    name, top = symbol(old), callee_of(call)
    owners = [v.owner.operation for v in call.operands if isinstance(v, ir.OpResult)]
    passed = [global_of(op) for op in owners]
    constants = _constants(s, made, dict(zip(passed, weights, strict=True)))
    functions = functions_of(made.module)
    inside = _reached(functions, top)
    names, taken = {top: name}, functions_of(s.module)
    for other in inside - {top}:
        names[other] = free_name(f"{other}_{name}", taken, names.values(), first=2)
    new = old
    for original in [f for f in functions if f in inside]:
        copy = functions[original].clone(ir.InsertionPoint(old)).operation
        copy.attributes["sym_name"] = ir.StringAttr.get(names[original])
        for op in walk(copy):
            if op.name == "func.call":
                op.attributes["callee"] = ir.FlatSymbolRefAttr.get(names[callee_of(op)])
            elif op.name == "memref.get_global":
                op.attributes["name"] = ir.FlatSymbolRefAttr.get(constants[global_of(op)])
        info = made.functions[original]
        calls = [names[each] for each in info.calls]
        s.kernel.functions[names[original]] = replace(info, name=names[original], calls=calls)
        if original == top:
            new = copy
    old.erase()
    _read_weights(s, new, [constants[each] for each in passed])
    drop_unused_constants(s.module)
    return new


def _reached(functions: dict[str, ir.Operation], top: str) -> set[str]:
    found: set[str] = set()
    waiting = [top]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [callee_of(op) for op in walk(functions[name]) if op.name == "func.call"]
    return found


def _constants(s: ModelState, made: KernelModule, weights: dict[str, str]) -> dict[str, str]:
    """Copy the constants; what each is called now. One that is there already stays one."""
    here = _globals(s.module)
    names: dict[str, str] = {}
    begin = ir.InsertionPoint.at_block_begin(s.module.body)
    for wanted, op in _globals(made.module).items():
        stem = f"g_{identifier(weights[wanted])}" if wanted in weights else wanted
        name, number = stem, 0
        while name in here and not _equal(here[name], op):
            number += 1
            name = f"{stem}_{number}"
        names[wanted] = name
        if name not in here:
            here[name] = op.clone(begin).operation
            here[name].attributes["sym_name"] = ir.StringAttr.get(name)
    return names


def _globals(module: ir.Module) -> dict[str, ir.Operation]:
    operations = [op.operation for op in module.body.operations]
    return {symbol(op): op for op in operations if op.name == "memref.global"}


def _equal(one: ir.Operation, other: ir.Operation) -> bool:
    """Whether two constants are the same but for their names."""
    left, right = (
        {name: op.attributes[name] for name in op.attributes if name != "sym_name"}
        for op in (one, other)
    )
    return left == right and "constant" in left


def _read_weights(s: ModelState, function: ir.Operation, constants: Sequence[str]) -> None:
    """Make the last arguments constants that the function reads."""
    block = entry_of(function)
    signature = signature_of(function)
    inputs = len(block.arguments) - len(constants)
    begin = ir.InsertionPoint.at_block_begin(block)
    for position, name in enumerate(constants, inputs):
        argument = block.arguments[position]
        read = ir.Operation.create(
            "memref.get_global",
            results=[argument.type],
            attributes={"name": ir.FlatSymbolRefAttr.get(name)},
            loc=function.location,
            ip=begin,
        )
        argument.replace_all_uses_with(read.results[0])
    for position in reversed(range(inputs, len(block.arguments))):
        block.erase_argument(position)
    sign(function, signature.names[:inputs], signature.declared[:inputs])
    info = s.kernel.functions[symbol(function)]
    s.kernel.functions[symbol(function)] = replace(info, args=info.args[:inputs])
