"""Which array arguments a call of a function may change."""

from __future__ import annotations

from ._mlir import ir

_VIEWS = {
    "memref.subview",
    "memref.cast",
    "memref.reinterpret_cast",
    "memref.reshape",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.transpose",
    "memref.view",
}
_READERS = {
    "affine.load",
    "memref.load",
    "memref.dim",
    "memref.dealloc",
    "allo.put",
    "allo.print",
    "func.return",
}


def written_arguments(module: ir.Module, name: str) -> set[int]:
    """Positions of the memref arguments that a call of ``name`` may write, callees included.

    An operation that is not known to only read counts as writing.
    """
    functions = {
        op.attributes["sym_name"].value: op.operation
        for op in module.body.operations
        if op.operation.name == "func.func"
    }
    return _written(functions, name, {})


def _written(functions: dict[str, ir.Operation], name: str, known: dict[str, set[int]]) -> set[int]:
    if name in known:
        return known[name]
    known[name] = set()
    function = functions.get(name)
    if function is None:
        return set()
    inputs = function.attributes["function_type"].value.inputs
    memrefs = {i for i, t in enumerate(inputs) if isinstance(t, ir.MemRefType)}
    if not function.regions[0].blocks:
        known[name] = memrefs
        return memrefs
    arguments = function.regions[0].blocks[0].arguments
    found = {i for i in memrefs if _is_written(functions, arguments[i], known)}
    known[name] = found
    return found


def _is_written(
    functions: dict[str, ir.Operation], value: ir.Value, known: dict[str, set[int]]
) -> bool:
    for use in value.uses:
        op = use.owner.operation
        if op.name in _READERS or (op.name == "memref.copy" and use.operand_number == 0):
            continue
        if op.name in _VIEWS:
            if _is_written(functions, op.results[0], known):
                return True
            continue
        if op.name == "func.call":
            callee = op.attributes["callee"].value
            if use.operand_number in _written(functions, callee, known):
                return True
            continue
        return True
    return False
