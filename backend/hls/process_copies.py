"""Processes that ``unfold`` copied: those that stayed equal are one function of the text.

``unfold`` gives every cell of an array a function, so that a schedule may change one of them. Where
more than 16 of those that a region calls differ in their names alone, the region calls the first of
them for all: the text of 256 cells is that of one, and so is what later tools compile. Each call is
still hardware of its own, and a coordinate that it gives as a constant is one in that hardware
(``function_instantiate``). The frontend shares the kernels of regions from the same number on.
"""

from __future__ import annotations

from collections import defaultdict

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.signature import callee_of, functions_of
from allo.dialects.passes.merge_instances import merge_instances
from allo.dialects.streams.processes import SHARE_ABOVE, UNFOLDED

CONSTANTS = "instantiated"
"""Attribute of a function: which of its arguments the calls of regions give as constants."""


def copied_functions(module: ir.Module) -> frozenset[str]:
    """The functions that ``unfold`` made, each for one iteration; before their callers become regions."""
    calls = (op for op in walk(module.operation) if op.name == "func.call")
    return frozenset(callee_of(op) for op in calls if UNFOLDED in op.attributes)


def merge_copies(module: ir.Module, copied: frozenset[str]) -> None:
    """Let regions call one function for the ``copied`` ones that are equal, and mark what calls give it."""
    called = _calls_of_regions(module)
    functions = functions_of(module)
    alone = [n for n, ops in called.items() if n in copied and len(ops) == 1]
    candidates = [name for name in alone if not _has_state(functions[name])]
    merge_instances(module, candidates, at_least=SHARE_ABOVE + 1)
    with module.context:
        for name, ops in _calls_of_regions(module).items():
            _mark(functions[name], ops)


def _calls_of_regions(module: ir.Module) -> dict[str, list[ir.Operation]]:
    """What regions call, by the name of the function."""
    called: dict[str, list[ir.Operation]] = defaultdict(list)
    for function in functions_of(module).values():
        if "region" in function.attributes:
            for op in walk(function):
                if op.name == "func.call":
                    called[callee_of(op)].append(op)
    return called


def _has_state(function: ir.Operation) -> bool:
    return any(op.name == "memref.get_global" for op in walk(function))


def _mark(function: ir.Operation, calls: list[ir.Operation]) -> None:
    """Note the index arguments that the calls give as constants, one or another."""
    given = zip(*(op.operands for op in calls), strict=True)
    found = [
        n for n, values in enumerate(given) if len({_constant(v) for v in values} - {None}) > 1
    ]
    positions = [n for n in found if all(_constant(op.operands[n]) is not None for op in calls)]
    if positions:
        function.attributes[CONSTANTS] = ir.DenseI64ArrayAttr.get(positions)


def _constant(value: ir.Value) -> int | None:
    if not isinstance(value.type, ir.IndexType) or isinstance(value, ir.BlockArgument):
        return None
    owner = value.owner
    if owner.name != "arith.constant":
        return None
    return int(ir.IntegerAttr(owner.attributes["value"]).value)


def instantiated(function: ir.Operation) -> list[int]:
    """The arguments of which each value makes hardware of its own, by position."""
    if CONSTANTS not in function.attributes:
        return []
    return list(ir.DenseI64ArrayAttr(function.attributes[CONSTANTS]))
