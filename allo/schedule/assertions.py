"""Asserted dependences under other primitives: what an assertion is about may not change behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from allo.dialects._mlir import ir
from allo.dialects.affine.asserted import (
    ACCESS_MARK,
    LOOP_MARK,
    assertions_of,
    loops_asserted,
    marks_of,
)
from allo.dialects.affine.loops import enclosing_loops, string_attribute, walk
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import functions_of
from allo.dialects.diagnostics import ScheduleError, SourcePlace

from .state import ScheduleState

type Shape = list[object]
type _Known = tuple[Shape, str, str, SourcePlace | None]

_MARKS = frozenset(
    {"pipeline_ii", "rewind", "unroll", "parallel", "dataflow", ACCESS_MARK, LOOP_MARK}
)


@contextmanager
def kept_assertions(s: ScheduleState, primitive: str) -> Iterator[None]:
    """Refuse an edit of the module that changes a loop of which something is asserted.

    Raises:
        ScheduleError: naming the loop and the assertion.
    """
    before = _asserted(s) if s.asserted else {}
    yield
    if not before:
        return
    after = _asserted(s)
    for (function, number), (shape, name, array, place) in before.items():
        found = after.get((function, number))
        if found is None or found[0] != shape:
            raise ScheduleError(
                f"{primitive} changes loop {name}, of which a dependence on {array} was asserted.",
                place,
                help="call dependence after the primitives that change the loop.",
            )


def _asserted(s: ScheduleState) -> dict[tuple[str, int], _Known]:
    """What each assertion is about, by function and number."""
    found: dict[tuple[str, int], _Known] = {}
    for function, op in functions_of(s.module).items():
        for loop in loops_asserted(op):
            shape = _shape(loop)
            name = string_attribute(loop, "loop_name") or "?"
            for a in assertions_of(marks_of(loop)):
                found[function, a.number] = (shape, name, a.array, place_of(loop))
    return found


def _shape(loop: ir.Operation) -> Shape:
    """The operations of a loop and the loops around it, without marks, types and names of values."""
    numbers: dict[ir.Value, int] = {}
    rows: Shape = []
    for op in (*enclosing_loops(loop), loop, *walk(loop)):
        operands = [numbers.setdefault(v, len(numbers)) for v in op.operands]
        attributes = sorted((n, str(op.attributes[n])) for n in op.attributes if n not in _MARKS)
        rows.append((op.name, operands, attributes))
    return rows
