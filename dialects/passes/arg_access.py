"""Which array arguments a function reads and which it writes, calls included."""

from __future__ import annotations

from .._mlir import ir
from ..affine.loops import spec_of
from ..core.effects import EffectAnalysis, FunctionEffects
from ..core.signature import callee_of, function_type, symbol


def analyze_arg_load_store(module: ir.Module | ir.Operation) -> dict[str, list[str]]:
    """For every function, ``in``, ``out`` or ``both`` for each argument.

    Scalars, and arrays that are not touched, are ``in``; arrays of a function without a body ``both``.
    """
    effects = EffectAnalysis(module.operation)
    found = {}
    for op in module.operation.regions[0].blocks[0].operations:
        if op.operation.name != "func.func":
            continue
        name = symbol(op)
        found[name] = _function(op.operation, effects.summary(name))
    return found


def _function(op: ir.Operation, summary: FunctionEffects) -> list[str]:
    inputs = function_type(op).inputs
    if not len(op.regions[0].blocks):
        return ["both" if isinstance(t, ir.MemRefType) else "in" for t in inputs]
    words = []
    for position in range(len(inputs)):
        written = position in summary.arguments_written
        read = position in summary.arguments_read or _is_returned(op, position)
        words.append(("both" if read else "out") if written else "in")
    return words


def touched_arguments(module: ir.Module, name: str) -> set[int]:
    """Positions of the arguments whose memory function ``name`` reads or writes at all."""
    summary = EffectAnalysis(module.operation).summary(name)
    return summary.arguments_read | summary.arguments_written


def _is_returned(op: ir.Operation, position: int) -> bool:
    argument = op.regions[0].blocks[0].arguments[position]
    return any(use.owner.operation.name == "func.return" for use in argument.uses)


def writes_everything(function: ir.Operation, position: int, module: ir.Module) -> bool:
    """Whether every element of an array argument is surely written when the function runs.

    Conservative: a whole-array fill or copy, a store whose subscripts are loops over the
    whole extents outside any condition, or a call that does so.
    """
    argument = function.regions[0].blocks[0].arguments[position]
    return any(_covers(use, argument, module) for use in argument.uses)


def _covers(use: ir.OpOperand, argument: ir.Value, module: ir.Module) -> bool:
    owner = use.owner.operation
    if owner.name in ("linalg.fill", "memref.copy"):
        return use.operand_number == 1 and _loops_around(owner) is not None
    if owner.name == "func.call":
        if _loops_around(owner) is None:
            return False
        callee = callee_of(owner)
        target = ir.SymbolTable(module.operation)[callee].operation
        has_body = len(target.regions[0].blocks) > 0
        return has_body and writes_everything(target, use.operand_number, module)
    if owner.name != "affine.store" or use.operand_number != 1:
        return False
    loops = _loops_around(owner)
    affine_map = owner.attributes["map"].value
    if loops is None or not affine_map.is_projected_permutation:
        return False
    operands = list(owner.operands)[2:]
    extents = ir.MemRefType(argument.type).shape
    ivs = [operands[e.position] for e in affine_map.results]
    if len(set(ivs)) != len(ivs):
        return False
    return all(
        any(iv == loop_iv and trips == extent for loop_iv, trips in loops)
        for iv, extent in zip(ivs, extents, strict=True)
    )


def _loops_around(op: ir.Operation) -> list[tuple[ir.Value, int]] | None:
    """(iterator, extent) of the loops from 0 by 1 around ``op``; None under anything else."""
    loops = []
    parent = op.parent
    while parent is not None and parent.operation.name != "func.func":
        loop = parent.operation
        extent = _extent(loop) if loop.name == "affine.for" else None
        if extent is None:
            return None
        loops.append((loop.regions[0].blocks[0].arguments[0], extent))
        parent = loop.parent
    return loops


def _extent(loop: ir.Operation) -> int | None:
    spec = spec_of(loop)
    bounds = spec.constant_bounds()
    plain = bounds is not None and bounds[0] == 0 and spec.step == 1
    return bounds[1] if bounds and plain and bounds[1] > 0 else None
