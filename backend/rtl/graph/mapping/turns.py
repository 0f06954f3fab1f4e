"""Registers for the operands of units at which many operations take turns.

A pipeline that begins an iteration every few cycles has one unit for as many operations. What chooses among
their operands, and says in which cycle, is then as slow as a stage of the unit, and a caller may choose once
more. Behind masters all functions of a design get such units, or none does, so that they still share them.

Elsewhere a function gets them whose schedule is known: where the choice in front of a unit, in as many tables
as all its choices take, and the unit's own logic are later than a clock may be that the estimate finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import ceil, log2

from ...operators.library import OperatorLibrary
from ...operators.spec import Operator
from ...read.records import Op, Program
from ..nodes import Body, Node
from .units import QUICK

MANY = 4
"""Cycles between iterations from which on the choice among operands is looked at."""
AROUND = 4
"""Levels of logic around the choice: the bit that says when, with all that it reaches, and the caller's."""


WHEN = 1
"""Levels of logic around the choice inside one function: what says in which cycle."""
OFTEN = 8
"""Operands from which on the choice in front of a unit of a scheduled pipeline is looked at."""
LATE = 1 / 0.85
"""How far behind its cycle logic may be: the clock is then 15 % below the one that was asked for."""
LARGE = 4096
"""Tables up to which the levels of logic of a device are as quick as its record says."""


def most_turns(program: Program) -> int:
    """The most cycles between iterations that a pipeline of a program asks for; 0 where they are few."""
    most = max((_turns(record.ops) for record in program.functions.values()), default=0)
    return most if most >= MANY else 0


def _turns(ops: list[Op]) -> int:
    own = [int(op.attrs.get("pipeline_ii", 0)) for op in ops]
    return max([0, *own, *(_turns(region) for op in ops for region in op.regions)])


def register_operands(bodies: list[Body], library: OperatorLibrary, turns: int) -> None:
    """Give units registers for their operands where choosing these leaves no time for more."""
    choice = (AROUND + _levels(turns)) * library.device.level_ns
    budget = library.device.budget_ns(library.clock_mhz)
    for node, operator in _shared(bodies):
        if choice + operator.delay_ns > budget:
            node.operator = _registered(operator, library)


def late_units(bodies: list[Body], library: OperatorLibrary) -> frozenset[str]:
    """The units, by their modules, whose operands a scheduled and bound function chooses too late.

    Only pipelines are looked at: an operation by itself would wait a cycle for nothing. A loop that got quick
    units waits for them.
    """
    chosen: dict[tuple[str, int, int], dict[int, int]] = defaultdict(dict)
    delays: dict[str, float] = {}
    for node, operator in _shared(body for body in bodies if body.overlaps):
        if dict(operator.asked[3]).get("impl") == "fast":
            continue
        delays[operator.module] = operator.delay_ns
        for position, operand in enumerate(node.operands):
            chosen[operator.module, node.unit, position][operand.number] = operand.width
    most: dict[str, int] = defaultdict(int)
    for (module, *_), words in chosen.items():
        most[module] = max(most[module], len(words))
    tables = sum((len(words) - 1) * max(words.values()) for words in chosen.values())
    budget, level = library.device.budget_ns(library.clock_mhz), _level(library, tables)
    return frozenset(
        module
        for module, words in most.items()
        if words >= OFTEN and (WHEN + _levels(words)) * level + delays[module] > LATE * budget
    )


def register_units(bodies: list[Body], library: OperatorLibrary, late: frozenset[str]) -> None:
    """Give the units of these modules registers for their operands."""
    for node, operator in _shared(bodies):
        if operator.module in late:
            node.operator = _registered(operator, library)


def _shared(bodies: Iterable[Body]) -> Iterable[tuple[Node, Operator]]:
    """The operations of units at which others may take turns, and whose operands may wait in registers."""
    for body in bodies:
        for node in body.nodes:
            operator = node.operator
            if node.op in QUICK and operator and operator.latency and operator.shareable:
                yield node, operator


def _levels(words: int) -> int:
    """Levels of lookup tables that choose among so many words."""
    return ceil(ceil(log2(words)) / 2)


def _level(library: OperatorLibrary, tables: int) -> float:
    """A level of logic where choices take so many tables: their wires are as long as the choices are wide."""
    signals = library.record.signals
    longer = signals.in_design(max(tables, LARGE), 0).wire - signals.in_design(LARGE, 0).wire
    return library.device.level_ns + longer


def _registered(operator: Operator, library: OperatorLibrary) -> Operator:
    """The unit with registers for its operands, which answers a cycle later."""
    op, operand_types, result_type, given = operator.asked
    return library.find(op, operand_types, result_type, {**dict(given), "registered": True})


__all__ = ["late_units", "most_turns", "register_operands", "register_units"]
