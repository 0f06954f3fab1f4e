"""Which array arguments a function reads and which it writes, calls included."""

from __future__ import annotations

from .._mlir import ir

_READ, _WRITE = 1, 2
_WORDS = {0: "in", _READ: "in", _WRITE: "out", _READ | _WRITE: "both"}

# Operand position to access, for operations that take whole arrays or elements of them.
_ACCESSES: dict[str, dict[int, int]] = {
    "affine.load": {0: _READ},
    "memref.load": {0: _READ},
    "affine.store": {1: _WRITE},
    "memref.store": {1: _WRITE},
    "linalg.fill": {1: _WRITE},
    "memref.copy": {0: _READ, 1: _WRITE},
    "func.return": {},
    "memref.dealloc": {},
    "allo.put": {1: _READ},
    "allo.get_block": {1: _WRITE},
}
_VIEWS = frozenset(
    {"memref.subview", "memref.cast", "memref.reinterpret_cast", "memref.collapse_shape"}
    | {"memref.expand_shape", "memref.transpose", "memref.view"}
)


def analyze_arg_load_store(module: ir.Module) -> dict[str, list[str]]:
    """For every function, ``in``, ``out`` or ``both`` for each argument (scalars are ``in``)."""
    functions = {
        op.operation.attributes["sym_name"].value: op.operation  # type: ignore[attr-defined]
        for op in module.body.operations
        if op.operation.name == "func.func"
    }
    known: dict[str, list[int]] = {}
    for name in functions:
        _analyze(name, functions, known)
    return {name: [_WORDS[access] for access in known[name]] for name in functions}


def _analyze(
    name: str, functions: dict[str, ir.Operation], known: dict[str, list[int]]
) -> list[int]:
    if name in known:
        return known[name]
    op = functions[name]
    blocks = op.regions[0].blocks
    if not len(blocks):
        inputs = ir.FunctionType(op.attributes["function_type"].value).inputs  # type: ignore[attr-defined]
        known[name] = [_READ | _WRITE if isinstance(t, ir.MemRefType) else _READ for t in inputs]
        return known[name]
    known[name] = [
        _access(a, functions, known) if isinstance(a.type, ir.MemRefType) else _READ
        for a in blocks[0].arguments
    ]
    return known[name]


def _access(
    value: ir.Value, functions: dict[str, ir.Operation], known: dict[str, list[int]]
) -> int:
    found = 0
    for use in value.uses:
        owner = use.owner.operation
        if owner.name == "func.call":
            callee = ir.FlatSymbolRefAttr(owner.attributes["callee"]).value
            found |= _analyze(callee, functions, known)[use.operand_number]
        elif owner.name in _VIEWS:
            found |= _access(owner.results[0], functions, known)
        elif owner.name == "func.return":
            found |= _READ
        else:
            table = _ACCESSES.get(owner.name)
            found |= _READ | _WRITE if table is None else table.get(use.operand_number, 0)
    return found


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
        callee = ir.FlatSymbolRefAttr(owner.attributes["callee"]).value
        target = ir.SymbolTable(module.operation)[callee].operation
        has_body = len(target.regions[0].blocks) > 0
        return has_body and writes_everything(target, use.operand_number, module)
    if owner.name != "affine.store" or use.operand_number != 1:
        return False
    loops = _loops_around(owner)
    affine_map = owner.attributes["map"].value  # type: ignore[attr-defined]
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
    lower = loop.attributes["lowerBoundMap"].value.results  # type: ignore[attr-defined]
    upper = loop.attributes["upperBoundMap"].value.results  # type: ignore[attr-defined]
    constants = all(isinstance(e, ir.AffineConstantExpr) for e in (*lower, *upper))
    if not constants or len(lower) != 1 or len(upper) != 1:
        return None
    plain = lower[0].value == 0 and loop.attributes["step"].value == 1  # type: ignore[attr-defined]
    return upper[0].value if plain and upper[0].value > 0 else None
