"""How far the first schedule of a body was from the best one, and how much of that is proved."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import ceil

from allo.dialects.diagnostics import SourcePlace

from ...graph.nodes import Body, Node
from ...operators.spec import Operator
from ..placing.room import is_unit

SHIFTED = 32
"""Steps that a lookup table keeps a bit for."""
MULTIPLIER_BLOCK = 100
"""Lookup tables and flip-flops that a multiplier block counts for in the area."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that is asked for.

    Attributes:
        first: of the first schedule.
        found: of the best one found.
        bound: no schedule has less.
    """

    first: int
    found: int
    bound: int

    @property
    def proved(self) -> bool:
        """Whether what was found is the least."""
        return self.found == self.bound


@dataclass(frozen=True, slots=True)
class Proof:
    """What an exact search says of one body.

    Attributes:
        name: of the loop, "" for a body that no loop holds.
        operations: nodes with logic, and accesses.
        ii: initiation interval in cycles; None where iterations do not overlap.
        depth: cycles of an iteration, at the interval found.
        area: cells that keep values, and those of shared units, in as many cycles.
        without: why there is no proof, "" where there is.
    """

    place: SourcePlace | None
    name: str
    operations: int
    ii: Figure | None = None
    depth: Figure | None = None
    area: Figure | None = None
    without: str = ""


def operations_of(body: Body) -> int:
    """Nodes with logic, and accesses: all but wires."""
    return sum(node.kind != "wire" for node in body.nodes)


def users_of(body: Body) -> dict[Node, list[Node]]:
    """The values that registers may keep, of the body and counters of its loops, and what reads them."""
    users: dict[Node, list[Node]] = defaultdict(list)
    for node in body.nodes:
        for operand in {operand.number: operand for operand in node.operands}.values():
            if operand.width and (operand.body is body or operand.kind == "iv"):
                users[operand].append(node)
    return users


def area_of_units(operator: Operator) -> int:
    """What one shared unit counts for: its tables and flip-flops, and so many for each multiplier block."""
    made = operator.resources
    return max(1, round(made.lut + made.ff + MULTIPLIER_BLOCK * made.dsp))


def cells_of_chain(length: int, *, shift_registers: bool) -> int:
    """Cells that keep one bit for so many steps: flip-flops, or lookup tables that are shift registers."""
    if not shift_registers or length < 2:
        return length
    return 1 + ceil((length - 1) / SHIFTED)


def units_of(
    body: Body, uses: Mapping[int, list[Hashable]], ii: int | None
) -> dict[Hashable, tuple[Operator, int]]:
    """How many of each shared unit a scheduled body takes, with the operator.

    Args:
        uses: the ports and units that nodes take for a slot, by node number.
    """
    slots: Counter[tuple[Hashable, int]] = Counter()
    found: dict[Hashable, tuple[Operator, int]] = {}
    for node in body.nodes:
        for use in uses.get(node.number, ()):
            if is_unit(use) and node.operator is not None:
                slot = use, node.time % ii if ii else node.time
                slots[slot] += 1
                most = max(slots[slot], found[use][1] if use in found else 0)
                found[use] = node.operator, most
    return found


def area_of(
    body: Body, uses: Mapping[int, list[Hashable]], ii: int | None, *, shift_registers: bool
) -> int:
    """Cells that keep values of a scheduled body until their last use, and what its shared units are made of.

    Args:
        uses: the ports and units that nodes take for a slot, by node number.
    """
    area = 0
    for value, users in users_of(body).items():
        last = max(user.time for user in users)
        steps = ceil(max(0, last - value.avail) / (ii or 1))
        area += value.width * cells_of_chain(steps, shift_registers=shift_registers)
    made = units_of(body, uses, ii).values()
    return area + sum(area_of_units(operator) * count for operator, count in made)
