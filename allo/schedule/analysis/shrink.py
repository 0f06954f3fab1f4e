"""Shrink an intermediate array to what one iteration of a nest needs."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.dependence import find_violation
from allo.dialects.affine.loops import (
    body_operations,
    induction_variable,
    is_affine_loop,
    is_loop,
    walk,
)
from allo.dialects.affine.maps import BoundMap, bound_map
from allo.dialects.affine.model import Model
from allo.dialects.affine.substitute import simplify
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.partition import layout_of

from .buffers import Part, alloc, join_maps, redirect, split_subscripts


def shrink_private_arrays(
    module: ir.Module, root: ir.Operation, chain: Sequence[ir.Operation]
) -> None:
    """Move arrays that live within one iteration of ``chain`` into its innermost loop.

    An array qualifies when it is a local one, nothing outside uses it, all its accesses agree in
    the part the chain fixes, and no value passes from one iteration of the chain to another.
    """
    for op in list(root.block.operations):
        operation = op.operation
        if operation.name == "memref.alloc" and _qualifies(module, operation, root, chain):
            _shrink(operation, chain)


def shrink_inner_arrays(chain: Sequence[ir.Operation]) -> None:
    """Shrink arrays that are made in each iteration of ``chain`` to the elements that it touches."""
    # Where one shrinks, its accesses become others: the body is read before.
    made = [op for op in body_operations(chain[-1]) if op.name == "memref.alloc"]
    for op in made:
        if _shrinks(op, chain):
            _shrink(op, chain)


def _accesses(array: ir.Operation) -> list[ir.Operation]:
    return [use.owner.operation for use in array.result.uses]


def _qualifies(
    module: ir.Module, array: ir.Operation, root: ir.Operation, chain: Sequence[ir.Operation]
) -> bool:
    stores = [op for op in _accesses(array) if op.name == "affine.store"]
    if not stores or not _shrinks(array, chain):
        return False
    return _within_an_iteration(module, array, root, chain)


def _shrinks(array: ir.Operation, chain: Sequence[ir.Operation]) -> bool:
    """Whether the accesses agree in the part that the chain fixes, all of them inside it."""
    accesses = _accesses(array)
    kind = ir.MemRefType(array.result.type)
    if not accesses or kind.rank == 0 or layout_of(kind).bank_count > 1:
        return False
    inside = list(walk(chain[-1]))
    if any(op not in inside or op.name not in ("affine.load", "affine.store") for op in accesses):
        return False
    return _parts(accesses, chain) is not None


def _within_an_iteration(
    module: ir.Module, array: ir.Operation, root: ir.Operation, chain: Sequence[ir.Operation]
) -> bool:
    """No element is touched by two iterations of the chain, one of them writing."""
    model = Model([root], EffectAnalysis(module.operation))
    users = [s for s in model.statements if s.op in _accesses(array)]
    others = [s for s in model.statements if s not in users]
    backwards = []
    for statement in model.statements:
        time = statement.time()
        for depth in range(len(chain)):
            time[2 * depth + 1] = f"-{time[2 * depth + 1]}"
        backwards.append(time)
    # Running the chain backwards is legal for the array exactly when no dependence crosses it.
    ignored = [
        (a, b) for a in model.statements for b in model.statements if a in others or b in others
    ]
    return find_violation(model, backwards, ignored) is None


def _parts(accesses: Sequence[ir.Operation], chain: Sequence[ir.Operation]) -> list[Part] | None:
    first: list[Part] | None = None
    for op in accesses:
        parts = split_subscripts(bound_map(op), _moving(chain))
        if parts is None:
            return None
        if first is None:
            first = parts
            continue
        for a, b in zip(first, parts, strict=True):
            if bool(a.coefficients) != bool(b.coefficients):
                return None
            same = a.outer.map == b.outer.map and a.outer.operands == b.outer.operands
            if not a.coefficients and not same:
                return None
    return first


def _moving(chain: Sequence[ir.Operation]) -> set[ir.Value]:
    return {induction_variable(op) for op in walk(chain[-1]) if is_loop(op) and is_affine_loop(op)}


def _shrink(array: ir.Operation, chain: Sequence[ir.Operation]) -> None:
    accesses = _accesses(array)
    parts = _parts(accesses, chain) or []
    kind = ir.MemRefType(array.result.type)
    kept = [k for k, part in enumerate(parts) if part.coefficients]
    small = ir.MemRefType.get(
        [kind.get_dim_size(k) for k in kept], kind.element_type, memory_space=kind.memory_space
    )
    attributes = {
        n: array.attributes[n] for n in array.attributes if n in ("unsigned", "dtype", "name")
    }
    name = ir.StringAttr(array.attributes["name"]).value if "name" in attributes else "buffer"
    ip = ir.InsertionPoint(body_operations(chain[-1])[0])
    made = alloc(small, name, attributes, array.location, ip)
    for op in accesses:
        bound = bound_map(op)
        index = [_subscript(bound, k) for k in kept]
        redirect(op, made, join_maps(index), name)
    array.erase()


def _subscript(bound: BoundMap, position: int) -> BoundMap:
    results = [bound.map.results[position]]
    single = ir.AffineMap.get(bound.map.n_dims, bound.map.n_symbols, results)
    return simplify(BoundMap(single, bound.operands))
