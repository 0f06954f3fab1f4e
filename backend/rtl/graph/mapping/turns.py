"""Registers for the operands of units at which many operations take turns.

A pipeline that begins an iteration every few cycles has one unit for as many operations. What chooses among
their operands, and says in which cycle, is then as slow as a stage of the unit, and a caller may choose once
more. All functions of a design get such units, or none does, so that they still share them.
"""

from __future__ import annotations

from math import ceil, log2

from ...operators.library import OperatorLibrary
from ...operators.spec import Operator
from ...read.records import Op, Program
from ..nodes import Body
from .units import QUICK

MANY = 4
"""Cycles between iterations from which on the choice among operands is looked at."""
AROUND = 4
"""Levels of logic around the choice: the bit that says when, with all that it reaches, and the caller's."""


def most_turns(program: Program) -> int:
    """The most cycles between iterations that a pipeline of a program asks for; 0 where they are few."""
    most = max((_turns(record.ops) for record in program.functions.values()), default=0)
    return most if most >= MANY else 0


def _turns(ops: list[Op]) -> int:
    own = [int(op.attrs.get("pipeline_ii", 0)) for op in ops]
    return max([0, *own, *(_turns(region) for op in ops for region in op.regions)])


def register_operands(bodies: list[Body], library: OperatorLibrary, turns: int) -> None:
    """Give units registers for their operands where choosing these leaves no time for more."""
    choice = (AROUND + ceil(ceil(log2(turns)) / 2)) * library.device.level_ns
    budget = library.device.budget_ns(library.clock_mhz)
    for body in bodies:
        for node in body.nodes:
            operator = node.operator
            if (
                node.op not in QUICK
                or not operator
                or not operator.latency
                or not operator.shareable
            ):
                continue
            if choice + operator.delay_ns > budget:
                node.operator = _registered(operator, library)


def _registered(operator: Operator, library: OperatorLibrary) -> Operator:
    """The unit with registers for its operands, which answers a cycle later."""
    op, operand_types, result_type, given = operator.asked
    return library.find(op, operand_types, result_type, {**dict(given), "registered": True})


__all__ = ["most_turns", "register_operands"]
