"""Processes that ``unfold`` copied: those that stayed equal are one function of the text.

``unfold`` gives every cell of an array a function, so that a schedule may change one of them. Where
more than 16 of those that a region calls differ in their names alone, the region calls the first of
them for all: the text of 256 cells is that of one, and so is what later tools compile. Each call is
still hardware of its own, and a coordinate that it gives as a constant is one in that hardware
(``function_instantiate``). The frontend shares the kernels of regions from the same number on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.checked import module_pass
from allo.dialects.core.fingerprint import Fingerprint
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, functions_of
from allo.dialects.streams.processes import SHARE_ABOVE, UNFOLDED

INSTANCE = "instance"
"""Attribute of a call: the name of the function that stood for this process alone."""

CONSTANTS = "instantiated"
"""Attribute of a function: which of its arguments the calls of regions give as constants."""


def copied_functions(module: ir.Module) -> frozenset[str]:
    """The functions that ``unfold`` made, each for one iteration; before their callers become regions."""
    calls = (op for op in walk(module.operation) if op.name == "func.call")
    return frozenset(callee_of(op) for op in calls if UNFOLDED in op.attributes)


@module_pass
def merge_copies(module: ir.Module, copied: frozenset[str]) -> None:
    """Let regions call one function for the ``copied`` ones that are equal, and mark what calls give it."""
    functions = functions_of(module)
    calls = [
        op
        for name, function in functions.items()
        if "region" in function.attributes
        for op in walk(function)
        if op.name == "func.call"
    ]
    called: dict[str, list[ir.Operation]] = defaultdict(list)
    for op in calls:
        called[callee_of(op)].append(op)
    with module.context, ir.Location.unknown():
        candidates = [n for n, ops in called.items() if n in copied and len(ops) == 1]
        groups: dict[Hashable, list[str]] = defaultdict(list)
        if len(candidates) > SHARE_ABOVE:
            for name in candidates:
                if not _has_state(functions[name]):
                    groups[_key(functions[name])].append(name)
        for names in groups.values():
            if len(names) > SHARE_ABOVE:
                _merge(functions, called, names)
        for name, ops in called.items():
            _mark(functions[name], ops)


def _key(function: ir.Operation) -> Hashable:
    """Equal for functions whose text is equal but for the name."""
    place = place_of(function)
    return Fingerprint(function, places=True).key, place, str(function.attributes["arg_names"])


def _has_state(function: ir.Operation) -> bool:
    return any(op.name == "memref.get_global" for op in walk(function))


def _merge(
    functions: dict[str, ir.Operation], called: dict[str, list[ir.Operation]], names: list[str]
) -> None:
    first = names[0]
    for name in names[1:]:
        for op in called.pop(name):
            op.attributes[INSTANCE] = ir.StringAttr.get(name)
            op.attributes["callee"] = ir.FlatSymbolRefAttr.get(first)
            called[first].append(op)
        functions.pop(name).erase()


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
