"""Processes run at once, so a variable that keeps its value belongs to one of them at a time."""

from __future__ import annotations

from collections.abc import Mapping

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, functions_of
from allo.dialects.diagnostics import DataflowError, SourcePlace
from allo.dialects.streams.shared.handover import (
    HANDS_OVER,
    Shared,
    read_of,
    states_of,
    unordered,
)


def refuse_shared_state(module: ir.Module, stateful: Mapping[str, tuple[str, str]]) -> None:
    """Refuse a region of which two processes use a stateful variable that neither hands over to the other.

    Functions of processes that do are marked: a stream orders what they do with memory.

    Args:
        stateful: symbol of each variable to the function that declares it, and its name.

    Raises:
        DataflowError: naming the variable and both processes.
    """
    functions = functions_of(module)
    for region in functions.values():
        if "region" not in region.attributes:
            continue
        for symbol, calls in states_of(module, region).items():
            if len(calls) < 2:
                continue
            found = unordered(functions, Shared(symbol=symbol), calls)
            if found is not None:
                raise _refusal(functions, symbol, *stateful[symbol], *found)
            for call in calls:
                functions[callee_of(call)].attributes[HANDS_OVER] = ir.UnitAttr.get(module.context)


def _refusal(
    functions: Mapping[str, ir.Operation],
    symbol: str,
    function: str,
    name: str,
    first: ir.Operation,
    second: ir.Operation,
) -> DataflowError:
    one, two = callee_of(first), callee_of(second)
    reads = [read_of(functions[process], symbol) for process in (one, two)]
    meant = (
        f"let all that {one} does with {name} come before its first put into a stream, and let {two} get "
        f"from that stream, once and surely, before it touches {name}"
    )
    if all(read is not None for read in reads):
        read = reads[0]
        return DataflowError(
            f"The state {name} of the region is used by {one} and {two}.",
            None if read is None else place_of(read),
            help=f"{meant}; or send its value by a stream.",
            notes=_notes(("one of them", functions[one]), ("the other", functions[two])),
        )
    return DataflowError(
        f"The processes {one} and {two} run at once, and both call {function}, which keeps the stateful "
        f"variable {name}: the order of their calls is not defined.",
        place_of(second),
        help=f'give each process an instance: {function}["name"](...); or {meant}.',
        notes=_notes((f"The other process is {one}.", first)),
    )


def _notes(*rows: tuple[str, ir.Operation]) -> tuple[tuple[str, SourcePlace], ...]:
    found = [(text, place_of(op)) for text, op in rows]
    return tuple((text, place) for text, place in found if place is not None)


__all__ = ["refuse_shared_state"]
