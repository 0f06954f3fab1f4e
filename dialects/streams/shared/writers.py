"""Processes of a region that write one array: the elements that each of them writes, compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from allo.dialects.affine.isl import isl

from ..._mlir import ir
from ...affine.model import Statement
from ...affine.processes import RegionModel
from ...core.effects import EffectAnalysis, array_name
from ...core.locations import place_of
from ...core.signature import callee_of, functions_of
from ...diagnostics import SourcePlace


@dataclass(frozen=True, slots=True)
class TwoWriters:
    """Writes of two processes to one element.

    Attributes:
        element: ``B[0, 1]``.
        certain: whether they surely write it; False where data decide.
        names, places: of both processes, the earlier first, and of their writes.
    """

    element: str
    certain: bool
    names: tuple[str, str]
    places: tuple[SourcePlace | None, SourcePlace | None]


def two_writers(module: ir.Operation) -> Iterator[TwoWriters]:
    """For each array that two processes of a region write in one element: such an element."""
    for function in functions_of(module).values():
        if "region" in function.attributes and function.regions[0].blocks:
            yield from _of_region(module, function)


def _of_region(module: ir.Operation, function: ir.Operation) -> Iterator[TwoWriters]:
    users = users_of(function)
    if all(len(several) < 2 for several in users.values()):
        return
    effects = EffectAnalysis(module)
    for array, several in users.items():
        writers = [call for call in several if touches(call, array, effects, writes=True)]
        if len(writers) < 2:
            continue
        model = RegionModel(module, writers, effects)
        for certain in (True, False) if model.loose else (True,):
            found = _first(model, array, writers, certain=certain)
            if found is not None:
                yield found
                break


def users_of(region: ir.Operation) -> dict[ir.Value, list[ir.Operation]]:
    """The processes of a region that are given each array."""
    users: dict[ir.Value, list[ir.Operation]] = defaultdict(list)
    for op in (each.operation for each in region.regions[0].blocks[0].operations):
        if op.name == "func.call":
            for array in {v for v in op.operands if isinstance(v.type, ir.MemRefType)}:
                users[array].append(op)
    return users


def touches(call: ir.Operation, array: ir.Value, effects: EffectAnalysis, *, writes: bool) -> bool:
    """Whether a process writes an array, or reads it."""
    summary = effects.summary(callee_of(call))
    touched = summary.arguments_written if writes else summary.arguments_read
    return any(n in touched for n, operand in enumerate(call.operands) if operand == array)


def _first(
    model: RegionModel, array: ir.Value, calls: Sequence[ir.Operation], *, certain: bool
) -> TwoWriters | None:
    memory = model.memory_label(array) or ""
    stores: list[list[Statement]] = [[] for _ in calls]
    for statement in model.statements:
        known = statement.name not in model.loose or not certain
        if known and any(a.memory == memory and a.writes for a in statement.accesses):
            stores[statement.positions[0]].append(statement)
    seen = isl.UnionSet("{}")
    for second, own in enumerate(stores):
        elements = model.accesses(memory, True, own).range()
        if elements.intersect(seen).is_empty():
            seen = seen.union(elements)
            continue
        pairs = ((a, b, first) for first in range(second) for b in own for a in stores[first])
        for a, b, first in pairs:
            both = [model.accesses(memory, True, [s]).range() for s in (a, b)]
            common = both[0].intersect(both[1])
            if not common.is_empty():
                names = callee_of(calls[first]), callee_of(calls[second])
                where = place_of(a.op), place_of(b.op)
                return TwoWriters(element_of(array, common), certain, names, where)
    return None


def element_of(array: ir.Value, elements: isl.UnionSet) -> str:
    """One of some elements of an array, as a program writes it."""
    point = elements.sample_point()
    rank = ir.MemRefType(array.type).rank
    numbers = [point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(rank)]
    return f"{array_name(array)}[{', '.join(map(str, numbers))}]"


__all__ = ["TwoWriters", "element_of", "touches", "two_writers", "users_of"]
