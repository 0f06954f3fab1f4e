"""Processes of a region of which one reads an element of an array that another one writes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from allo.dialects.affine.isl import isl

from ..._mlir import ir
from ...affine.model import Statement
from ...affine.processes import RegionModel
from ...core.effects import EffectAnalysis
from ...core.locations import place_of
from ...core.signature import callee_of, functions_of
from ...diagnostics import SourcePlace
from .handover import HANDS_OVER, Shared, orders
from .writers import element_of, touches, users_of


@dataclass(frozen=True, slots=True)
class Race:
    """A read and a write of one element by two processes.

    Attributes:
        element: ``B[0, 1]``.
        certain: whether they surely touch it; False where data decide.
        joined: whether words go from one of them to the other, perhaps through others.
        reader, writer: the processes, and where they do so.
    """

    element: str
    certain: bool
    joined: bool
    reader: tuple[str, SourcePlace | None]
    writer: tuple[str, SourcePlace | None]


def races(module: ir.Module) -> Iterator[Race]:
    """For each array that a process reads where another one writes it, unordered: the first such element.

    Functions of processes that hand an array over are marked: a stream orders what they do with it.
    """
    functions = functions_of(module)
    effects: EffectAnalysis | None = None
    for function in functions.values():
        if "region" not in function.attributes or not function.regions[0].blocks:
            continue
        users = users_of(function)
        if any(len(calls) > 1 for calls in users.values()):
            effects = effects or EffectAnalysis(module.operation)
            for array, calls in users.items():
                yield from _of_array(module, array, calls, effects)


def _of_array(
    module: ir.Module, array: ir.Value, calls: Sequence[ir.Operation], effects: EffectAnalysis
) -> Iterator[Race]:
    writers, readers = (
        [n for n, call in enumerate(calls) if touches(call, array, effects, writes=writes)]
        for writes in (True, False)
    )
    if not any(w != r for w in writers for r in readers):
        return
    model = RegionModel(module.operation, calls, effects)
    memory = model.memory_label(array) or ""
    both = {
        (r, w): (reads, writes)
        for r, reads in _touched(model, memory, readers, writes=False).items()
        for w, writes in _touched(model, memory, writers, writes=True).items()
        if r != w and not reads[0].intersect(writes[0]).is_empty()
    }
    if not both:
        return
    functions = functions_of(module)
    ordered = orders(functions, Shared(array), calls)
    for call in {n for pair in both for n in pair if ordered & {pair, pair[::-1]}}:
        functions[callee_of(calls[call])].attributes[HANDS_OVER] = ir.UnitAttr.get(module.context)
    for (r, w), (reads, writes) in both.items():
        if not ordered & {(r, w), (w, r)}:
            yield _race(model, array, memory, (calls[r], reads[1]), (calls[w], writes[1]))
            return


def _touched(
    model: RegionModel, memory: str, processes: Sequence[int], *, writes: bool
) -> dict[int, tuple[isl.UnionSet, list[Statement]]]:
    """The elements that each process reads, or writes, and the statements that do."""
    found = {}
    for process in processes:
        own = [
            statement
            for statement in model.statements
            if statement.positions[0] == process
            and any(a.memory == memory and a.writes == writes for a in statement.accesses)
        ]
        found[process] = model.accesses(memory, writes, own).range(), own
    return found


def _race(
    model: RegionModel,
    array: ir.Value,
    memory: str,
    reading: tuple[ir.Operation, list[Statement]],
    writing: tuple[ir.Operation, list[Statement]],
) -> Race:
    pairs = [
        (read, write, common)
        for read in reading[1]
        for write in writing[1]
        for common in (
            model.accesses(memory, False, [read])
            .range()
            .intersect(model.accesses(memory, True, [write]).range()),
        )
        if not common.is_empty()
    ]
    certain = [p for p in pairs if not {p[0].name, p[1].name} & model.loose]
    read, write, common = (certain or pairs)[0]
    reader, writer = callee_of(reading[0]), callee_of(writing[0])
    return Race(
        element_of(array, common),
        bool(certain),
        _are_joined(reading[0], writing[0]),
        (reader, place_of(read.op)),
        (writer, place_of(write.op)),
    )


def _are_joined(first: ir.Operation, second: ir.Operation) -> bool:
    """Whether streams join two processes, perhaps through others."""
    seen, left = [first], [first]
    while left:
        for fifo in (v for v in left.pop().operands if isinstance(v.type, ir.IndexType)):
            fresh = [use.owner.operation for use in fifo.uses if use.owner.operation not in seen]
            seen += fresh
            left += fresh
    return second in seen


__all__ = ["Race", "races"]
