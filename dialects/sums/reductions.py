"""Reductions that a loop carries: elements that each iteration updates by one associative operation.

:func:`find_reductions` looks at the stores of a loop's body to elements that are the same in all of
its iterations. Such an element is a reduction where every access to it in the loop belongs to an
update ``x = x op y``, all with one ``op``, whose value of ``x`` goes into nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from allo.dialects.affine.isl import isl

from .._mlir import ir
from ..affine.associative import DIFFERENCES, MODULAR, family_of
from ..affine.loops import is_defined_inside, walk
from ..affine.maps import BoundMap, bound_map
from ..affine.model import Model, Statement, memory_name
from ..core.effects import EffectAnalysis
from ..core.locations import place_of
from ..diagnostics import SourcePlace

_WIDENING = ("arith.extsi", "arith.extui")


@dataclass(frozen=True, slots=True)
class Update:
    """One ``x = x op y``.

    Attributes:
        path: the operations from the load of ``x`` to the store, without these.
    """

    load: ir.Operation
    path: tuple[ir.Operation, ...]
    store: ir.Operation


@dataclass(frozen=True, slots=True)
class Reduction:
    """An element that every iteration of a loop updates with one associative operation.

    Attributes:
        family: the operation, a sum also for a difference.
        array: the memref; ``element``, its subscripts, the same in all iterations.
    """

    name: str
    family: str
    array: ir.Value
    element: BoundMap
    updates: tuple[Update, ...]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a store of a loop is no reduction: a sentence without its full stop, and where."""

    text: str
    place: SourcePlace | None


@dataclass(slots=True)
class Found:
    """What a loop carries, and what it might have carried but for an obstacle."""

    reductions: list[Reduction]
    obstacles: list[Obstacle]


def find_reductions(module: ir.Module, loop: ir.Operation) -> Found:
    """The reductions that ``loop`` carries, in program order."""
    found = Found([], [])
    groups: list[list[ir.Operation]] = []
    for store in _stores(loop):
        reason = _moves(store, loop)
        if reason is not None:
            found.obstacles.append(reason)
            continue
        same = next((g for g in groups if _same_element(g[0], store)), None)
        if same is None:
            groups.append([store])
        else:
            same.append(store)
    model = Model([loop], EffectAnalysis(module.operation)) if groups else None
    for stores in groups:
        made = _reduction(stores, loop)
        if isinstance(made, Reduction) and model is not None:
            made = _alone(made, model) or made
        if isinstance(made, Obstacle):
            found.obstacles.insert(0, made)
        else:
            found.reductions.append(made)
    return found


def _stores(loop: ir.Operation) -> Iterable[ir.Operation]:
    return (op for op in walk(loop) if op.name in ("affine.store", "memref.store"))


def _moves(store: ir.Operation, loop: ir.Operation) -> Obstacle | None:
    """That a store is not to one element of memory that outlives the iteration."""
    name, array = memory_name(store), store.operands[1]
    if is_defined_inside(array, loop):
        return Obstacle(f"{name} is another variable in each iteration", place_of(store))
    if any(is_defined_inside(v, loop) for v in list(store.operands)[2:]):
        return Obstacle(f"the iterations store to several elements of {name}", place_of(store))
    if store.name != "affine.store":
        return Obstacle(f"the element of {name} is known only when it runs", place_of(store))
    return None


def _reduction(stores: Sequence[ir.Operation], loop: ir.Operation) -> Reduction | Obstacle:
    name = memory_name(stores[0])
    updates: list[Update] = []
    families: list[str] = []
    for store in stores:
        found = update_of(store)
        if found is None or not is_defined_inside(found[0].load.result, loop):
            return Obstacle(
                f"this store of {name} is no update {name} = {name} op y with an associative op, "
                f"whose old value goes into nothing else",
                place_of(store),
            )
        update, family = found
        updates.append(update)
        families.append(family)
        if family != families[0]:
            first, second = (f.removeprefix("arith.") for f in (families[0], family))
            return Obstacle(f"{name} is updated by {first} and here by {second}", place_of(store))
    return Reduction(name, families[0], stores[0].operands[1], bound_map(stores[0]), tuple(updates))


def _alone(reduction: Reduction, model: Model) -> Obstacle | None:
    """What else in the loop touches the element."""
    own = {op for u in reduction.updates for op in (u.load, u.store)}
    mine = [s for s in model.statements if s.op in own]
    memory = mine[0].accesses[0].memory
    others = [
        s for s in model.statements if s not in mine and any(a.memory == memory for a in s.accesses)
    ]
    element = _elements(model, memory, mine[:1])
    for other in others:
        if not element.intersect(_elements(model, memory, [other])).is_empty():
            verb = "written" if any(a.writes for a in other.accesses) else "read"
            return Obstacle(
                f"{reduction.name} may also be {verb} by another statement of the loop",
                place_of(other.op),
            )
    return None


def _elements(model: Model, memory: str, statements: Sequence[Statement]) -> isl.UnionSet:
    """The elements of a memory that statements touch."""
    kept = [s.name for s in statements]
    touched = model.accesses(memory, True).union(model.accesses(memory, False))
    domains = model.schedule(only=[s for s in model.statements if s.name in kept]).domain()
    return touched.intersect_domain(domains).range()


def update_of(store: ir.Operation) -> tuple[Update, str] | None:
    """The update that a store ends and its operation; None where it ends none."""
    value, narrowed = store.operands[0], False
    path: list[ir.Operation] = []
    top = _only_used_here(value)
    if top is not None and top.name == "arith.trunci":
        narrowed = True
        path.append(top)
        top = _only_used_here(top.operands[0])
    family = None if top is None else family_of(top.name)
    if top is None or family is None:
        return None
    below = _path_to(store, top, family, narrowed)
    if below is None:
        return None
    load, operations = below
    return Update(load, (*operations, *path), store), family


def _path_to(
    store: ir.Operation, op: ir.Operation, family: str, narrowed: bool
) -> tuple[ir.Operation, list[ir.Operation]] | None:
    """From the load of the stored element up to ``op``, through operations of one family."""
    count = 1 if op.name in DIFFERENCES else 2
    for operand in list(op.operands)[:count]:
        below = _only_used_here(operand)
        path = [op]
        if below is not None and below.name in _WIDENING:
            if family not in MODULAR or not narrowed:
                continue
            path.insert(0, below)
            below = _only_used_here(below.operands[0])
        if below is None:
            continue
        if below.name == "affine.load" and _same_element(below, store):
            return below, path
        if family_of(below.name) == family:
            further = _path_to(store, below, family, narrowed)
            if further is not None:
                return further[0], [*further[1], *path]
    return None


def _only_used_here(value: ir.Value) -> ir.Operation | None:
    """The operation that makes a value with one use."""
    if isinstance(value, ir.BlockArgument) or sum(1 for _ in value.uses) != 1:
        return None
    owner: ir.Operation = value.owner.operation
    return owner


def _same_element(a: ir.Operation, b: ir.Operation) -> bool:
    arrays = [op.operands[1 if op.name == "affine.store" else 0] for op in (a, b)]
    if arrays[0] != arrays[1]:
        return False
    one, two = bound_map(a), bound_map(b)
    return bool(one.map == two.map) and one.operands == two.operands
