"""An element that the iteration before has written is handed on as a value.

::

    for j:                                  d = D[i, 0]
        D[i, j] = D[i, j - 1] + …     →     for j, with d:
                                                d = D[i, j] = d + …

Through memory, each iteration waits until what the one before has stored can be loaded, which takes a
processor as long as several additions. All stores stay, so the array is the same at every moment.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    body_of,
    build_loop,
    induction_variable,
    is_affine_loop,
    move_body,
    spec_of,
    terminator,
    walk,
)
from allo.dialects.affine.maps import bound_map, constant_map
from allo.dialects.affine.substitute import substitute, with_maps
from allo.dialects.core.effects import EffectAnalysis

from .accesses import MOST_OPERATIONS, Access, Row, access_of

_STORE, _LOAD = "affine.store", "affine.load"
_ACCESSES = frozenset((_STORE, _LOAD, "memref.load", "memref.store"))
_PLAIN = ("arith.", "math.")
_BRANCHES = frozenset(("affine.if", "scf.if"))
_ENDS = frozenset(("affine.yield", "scf.yield"))


@dataclass(frozen=True, slots=True)
class _Carried:
    """Loads of what the iteration before has stored."""

    store: ir.Operation
    loads: list[ir.Operation]


def carry(loop: ir.Operation, memory: EffectAnalysis) -> None:
    """Hand on what iterations of the innermost loops in ``loop``, or of itself, have written, in place.

    Only in loops that run at least once, by their constant bounds: the first iteration's element is
    loaded in front of the loop.
    """
    inner = [op for op in walk(loop) if is_affine_loop(op)]
    if inner:
        for op in inner:
            if not any(is_affine_loop(nested) for nested in walk(op)):
                _carry_in(op, memory)
    else:
        _carry_in(loop, memory)


def _carry_in(loop: ir.Operation, memory: EffectAnalysis) -> None:
    if len(loop.results) or not spec_of(loop).trip_count():
        return
    operations = list(walk(loop))
    if len(operations) > MOST_OPERATIONS or not all(_is_known(op) for op in operations):
        return
    found = _find(loop, [op for op in operations if op.name in _ACCESSES], memory)
    if found:
        _rebuild(loop, found)


def _is_known(op: ir.Operation) -> bool:
    if op.name in _ACCESSES or op.name in _BRANCHES or op.name in _ENDS:
        return True
    return op.name.startswith(_PLAIN) and not len(op.regions)


def _find(
    loop: ir.Operation, operations: list[ir.Operation], memory: EffectAnalysis
) -> list[_Carried]:
    """The stores of a loop that are the only ones to their array, with the loads that follow one."""
    stores: dict[object, list[ir.Operation]] = {}
    for op in operations:
        if op.name.endswith("store"):
            stores.setdefault(memory.memory_of(op.operands[1]).key, []).append(op)
    step = spec_of(loop).step
    index = induction_variable(loop)
    found = []
    for key, (store, *others) in stores.items():
        if others or store.name != _STORE or store.block != body_of(loop):
            continue
        written = access_of(store, memory)
        loads = [
            op
            for op in operations
            if op.name == _LOAD
            and op.results[0].type == store.operands[0].type
            and (read := access_of(op, memory)).key == key
            and _follows(read, written, index, step)
        ]
        if loads:
            found.append(_Carried(store, loads))
    return found


def _follows(read: Access, written: Access, index: ir.Value, step: int) -> bool:
    """Whether what is read is what the iteration before has written."""
    if not (read.exact and written.exact and read.shape == written.shape):
        return False
    moves = False
    for mine, other in zip(read.rows, written.rows, strict=True):
        if mine is None or other is None:
            return False
        distance = other.get(index, 0) * step
        moves = moves or distance != 0
        if _difference(other, mine) != distance:
            return False
    return moves


def _difference(left: Row, right: Row) -> int | None:
    """``left - right`` where it is a constant."""
    values = {*left, *right} - {None}
    if any(left.get(value, 0) != right.get(value, 0) for value in values):
        return None
    return left.get(None, 0) - right.get(None, 0)


def _rebuild(loop: ir.Operation, found: list[_Carried]) -> None:
    """Make a loop that carries the values, in place of one that does not."""
    spec = spec_of(loop)
    index = induction_variable(loop)
    lower = spec.lower.constant()
    if lower is None:
        return
    first = []
    for carried in found:
        load = carried.loads[0].clone(ir.InsertionPoint(loop)).operation
        bound = substitute(bound_map(load), index, constant_map(lower))
        first.append(with_maps(load, {"map": bound}).results[0])
    made = build_loop(spec, ir.InsertionPoint(loop), first)
    block = body_of(made)
    following = [carried.store.operands[0] for carried in found]
    end = ir.InsertionPoint(block)
    ir.Operation.create("affine.yield", operands=following, loc=loop.location, ip=end)
    move_body(loop, made)
    index.replace_all_uses_with(block.arguments[0])
    for carried, value in zip(found, list(block.arguments)[1:], strict=True):
        for load in carried.loads:
            load.results[0].replace_all_uses_with(value)
            load.erase()
    terminator(body_of(loop)).erase()
    loop.erase()
