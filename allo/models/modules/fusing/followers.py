"""Nests that compute each element from one element of another nest: computed where that is stored.

::

    for i, o:  y[i, o] = row[o]                 for i, o:
    for i, j:  z[i, j] = max(y[i, j], 0)  ──▶       z[i, o] = max(row[o], 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    body_operations,
    induction_variable,
    is_affine_loop,
    is_loop,
    parent_of,
    root_of,
    spec_of,
    string_attribute,
    walk,
)
from allo.dialects.affine.maps import BoundMap, bound_map, constant_map
from allo.dialects.affine.model import Model
from allo.dialects.affine.substitute import replace_index, simplify
from allo.dialects.core.effects import EffectAnalysis, Key

_SIMPLE = ("affine.load", "affine.store", "affine.apply", "affine.if", "affine.yield")
_MOVABLE = ("memref.alloc", "memref.get_global", "arith.constant", "affine.for")


@dataclass(frozen=True, slots=True)
class Following:
    """A nest that can be computed where another one stores an array.

    Attributes:
        array: the array, which goes.
        store: the only operation that writes it.
        nest: the nest that reads it.
        indices: what stands for each iterator of the nest at the store.
        needed: operations between the two nests that the nest needs and that can stand before both.
    """

    array: ir.Operation
    store: ir.Operation
    nest: ir.Operation
    indices: tuple[tuple[ir.Value, BoundMap], ...]
    needed: tuple[ir.Operation, ...]


def following(module: ir.Module, array: ir.Operation, nest: ir.Operation) -> Following | str:
    """How a nest follows the one that stores an array, or why it cannot.

    Args:
        module: that holds them.
        array: an allocation of which the nest, and nothing else, reads elements.
        nest: the loop around all these reads.
    """
    name = string_attribute(array, "name") or "the array"
    users = [use.owner.operation for use in array.result.uses]
    stores = [op for op in users if op.name == "affine.store"]
    loads = [op for op in users if op.name == "affine.load"]
    if len(stores) != 1 or len(loads) != len(users) - 1:
        return f"{name} is stored in several places"
    store = stores[0]
    chain = _chain(nest)
    simple = [op for op in walk(chain[-1]) if not _is_simple(op)]
    if simple:
        what = "a loop in which others stand" if is_loop(simple[0]) else simple[0].name
        return f"the nest holds {what}, so it is no computation of one element from another"
    if not _is_stored_once(module, array, store):
        return f"{name} is not stored element by element, each once"
    indices = _indices(chain, [bound_map(op) for op in loads], bound_map(store), array)
    if indices is None:
        return f"the nest does not read every element of {name} once"
    return _ordered(module, Following(array, store, nest, tuple(indices), ()))


def follow(found: Following) -> None:
    """Move the nest's body to the store."""
    before = root_of(found.store)
    for op in found.needed:
        op.move_before(before)
    value = found.store.operands[0]
    for use in list(found.array.result.uses):
        load = use.owner.operation
        if load.name == "affine.load":
            load.result.replace_all_uses_with(value)
            load.erase()
    for op in body_operations(_chain(found.nest)[-1]):
        op.move_before(found.store)
    for iterator, index in found.indices:
        replace_index(iterator, index)
    found.store.erase()
    found.array.erase()
    found.nest.erase()


def _chain(nest: ir.Operation) -> list[ir.Operation]:
    """The loops of a nest down to the first body that is more than a loop."""
    chain = [nest]
    while len(inner := body_operations(chain[-1])) == 1 and is_affine_loop(inner[0]):
        chain.append(inner[0])
    return chain


def _is_simple(op: ir.Operation) -> bool:
    if op.name in ("memref.alloc", "scf.if", "scf.yield") or op.name in _SIMPLE:
        return True
    return bool(op.name.startswith(("arith.", "math.")))


def _is_stored_once(module: ir.Module, array: ir.Operation, store: ir.Operation) -> bool:
    """Whether a store, the only one of its array, writes each element in exactly one iteration."""
    counts = []
    parent = parent_of(store)
    while parent is not None and parent.name != "func.func":
        count = spec_of(parent).trip_count() if is_affine_loop(parent) else None
        if count is None:
            return False
        counts.append(count)
        parent = parent_of(parent)
    if prod(counts) != prod(ir.MemRefType(array.result.type).shape):
        return False
    effects = EffectAnalysis(module.operation)
    model = Model([root_of(store)], effects)
    memory = model.memory_label(effects.memory_of(array.result).key)
    return memory is not None and model.writes_all(memory)


def _indices(
    chain: Sequence[ir.Operation], reads: Sequence[BoundMap], written: BoundMap, array: ir.Operation
) -> list[tuple[ir.Value, BoundMap]] | None:
    """What stands for each iterator, where the nest reads each element in exactly one iteration."""
    shape = list(ir.MemRefType(array.result.type).shape)
    iterators = [induction_variable(loop) for loop in chain]
    found: dict[ir.Value, int] = {}
    for number, bound in enumerate(map(simplify, reads)):
        places: dict[ir.Value, int] = {}
        for dim, expr in enumerate(bound.results):
            if isinstance(expr, ir.AffineDimExpr) and bound.dims[expr.position] in iterators:
                places[bound.dims[expr.position]] = dim
            elif not (isinstance(expr, ir.AffineConstantExpr) and shape[dim] == 1):
                return None
        if len(places) != sum(isinstance(e, ir.AffineDimExpr) for e in bound.results):
            return None
        if number and places != found:
            return None
        found = places
    made = []
    for loop, iterator in zip(chain, iterators, strict=True):
        spec = spec_of(loop)
        bounds = spec.constant_bounds()
        if bounds is None or spec.step != 1:
            return None
        if iterator in found:
            if bounds != (0, shape[found[iterator]]):
                return None
            made.append((iterator, simplify(written.alone(written.results[found[iterator]]))))
        elif bounds[1] - bounds[0] == 1:
            made.append((iterator, constant_map(bounds[0])))
        else:
            return None
    return made


def _ordered(module: ir.Module, found: Following) -> Following | str:
    """The nest with what has to move before the store; or why its place cannot be there."""
    effects = EffectAnalysis(module.operation)
    first, *between = _between(root_of(found.store), found.nest)
    array = effects.memory_of(found.array.result).key
    nest = _Needs.of(found.nest, effects).without(array)
    store = _Needs.of(first, effects).without(array)
    others = {root: _Needs.of(root, effects) for root in between}
    moved: dict[ir.Operation, _Needs] = {}
    waiting = [nest]
    while waiting:
        each = waiting.pop()
        for root, needs in others.items():
            if root not in moved and (needs.written & each.read or root in each.owners):
                if root.name not in _MOVABLE:
                    return f"it needs what {root.name} makes behind the store"
                moved[root] = needs
                waiting.append(needs)
    if first in nest.owners or any(needs.meets(store) for needs in (nest, *moved.values())):
        return "it needs, or writes, what the nest that stores it changes or reads"
    staying = [needs for root, needs in others.items() if root not in moved]
    if any(needs.meets(other) for needs in (nest, *moved.values()) for other in staying):
        return "it needs, or writes, what another nest between the two changes or reads"
    order = tuple(root for root in between if root in moved)
    return Following(found.array, found.store, found.nest, found.indices, order)


@dataclass(frozen=True, slots=True)
class _Needs:
    """The memory that an operation reads and writes, and the operations whose results it uses."""

    read: frozenset[Key]
    written: frozenset[Key]
    owners: frozenset[ir.Operation]

    @classmethod
    def of(cls, root: ir.Operation, effects: EffectAnalysis) -> _Needs:
        """Those of an operation with all that stands in it."""
        inside = [root, *walk(root)]
        found = [effect for op in inside for effect in effects.effects_of(op)]
        return cls(
            frozenset(e.memory.key for e in found if not e.writes),
            frozenset(e.memory.key for e in found if e.writes),
            frozenset(
                v.owner.operation
                for op in inside
                for v in op.operands
                if not isinstance(v, ir.BlockArgument)
            ),
        )

    def without(self, key: Key) -> _Needs:
        """These but for one piece of memory."""
        return _Needs(self.read - {key}, self.written - {key}, self.owners)

    def meets(self, other: _Needs) -> bool:
        """Whether one of the two writes what the other reads or writes."""
        theirs = other.read | other.written
        return bool(self.written & theirs or other.written & self.read)


def _between(first: ir.Operation, last: ir.Operation) -> list[ir.Operation]:
    """The operations of a block from one to before another."""
    order = [op.operation for op in first.block.operations]
    return order[order.index(first) : order.index(last)]
