"""``stream_to``: the result of a module passes to another through a FIFO."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import string_attribute, walk
from allo.dialects.core.signature import callee_of, functions_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.handles import MockBuffer
from allo.schedule.primitives.arrays.to import to

from ..places import place_of_caller
from .beside import path_beside, unknown_beside
from .paths import Match
from .state import ModelState


def stream_between(s: ModelState, source: Match, destination: str, depth: int) -> None:
    """Make the array between two modules a FIFO; see ``ModuleSchedule.stream_to``.

    Raises:
        UnknownHandleError: there is no such module.
        ScheduleError: the two are not called in one function, or the array cannot be a FIFO.
    """
    target = path_beside(s, source, destination)
    if target is None:
        raise unknown_beside(s, source, destination)
    for caller in functions_of(s.module).values():
        calls = [op for op in walk(caller) if op.name == "func.call"]
        producers = [c for c in calls if callee_of(c) in s.functions[source.path]]
        consumers = [c for c in calls if callee_of(c) in s.functions[target]]
        for producer in producers:
            for consumer in consumers:
                if any(result in list(consumer.operands) for result in producer.results):
                    _stream(s, caller, producer, consumer, depth)
                    s.note(source.path, f"its result passes to {target} through a FIFO")
                    return
    raise ScheduleError(
        f"Module {target!r} does not read the result of module {source.path!r} where both are called.",
        place_of_caller(),
        help="stream between modules that are called side by side, one with the result of the other.",
    )


def _stream(
    s: ModelState, caller: ir.Operation, producer: ir.Operation, consumer: ir.Operation, depth: int
) -> None:
    name = str(ir.StringAttr(caller.attributes["sym_name"]).value)
    array = string_attribute(producer, "name") or ""
    position = list(consumer.operands)
    number = next(k for k, result in enumerate(producer.results) if result in position)
    parts = array.split(",")
    buffer = MockBuffer(name, (parts[number] if len(parts) > number else array).strip())
    to(s, buffer, callee_of(consumer), None, depth)
