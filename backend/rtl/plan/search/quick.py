"""Quick units for the operations on which a loop waits, and one unit for two of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from allo.backend.rtl.float.quick.joint import Scaled, Sum, Tree

from ...graph.nodes import Body, Node
from ..mapped import followers, recurrent
from ..timing_model import TimingModel

type Undo = Callable[[], None]

MOST_OPERANDS = 4
_SUMS = ("arith.addf", "arith.subf")


def quicken(body: Body, timing: TimingModel) -> Undo | None:
    """Give the operations of recurrences units in fewer cycles; None where there are none."""
    slower = []
    for node in recurrent(body):
        found = timing.quicker(node) if node.operator is not None and not node.joined else None
        if found is not None:
            slower.append((node, node.operator))
            node.operator = found

    def undo() -> None:
        for node, operator in slower:
            node.operator = operator

    return undo if slower else None


def join(body: Body, timing: TimingModel) -> Undo | None:
    """Give two sums of recurrences, of which one alone reads the other, a unit in fewer cycles than both.

    A product by a power of two in front of them is part of the unit, too. None where no such unit is found.
    """
    around = {node.number for node in recurrent(body)}
    readers = followers(body)
    single = {number for number, found in readers.items() if len(found) == 1} & around
    nodes, gone = list(body.nodes), set[int]()
    before = []
    for node in nodes:
        if node.number in around and _is_quick_sum(node) and not node.joined:
            was = node, node.operands, node.operator
            if taken := _join_with_operand(node, single, timing):
                before.append(was)
                gone |= {t.number for t in taken}
    body.nodes[:] = [n for n in nodes if n.number not in gone]

    def undo() -> None:
        body.nodes[:] = nodes
        for node, operands, operator in before:
            node.operands, node.operator, node.joined = operands, operator, ()

    return undo if before else None


def _join_with_operand(node: Node, single: set[int], timing: TimingModel) -> list[Node]:
    """Join a sum with the first sum among its operands that it can be joined with; what it took in."""
    for first in node.operands:
        if not (_taken(first, node, single) and _is_quick_sum(first)) or first.joined:
            continue
        unit = _Unit(single, first)
        tree = unit.sum_of(node)
        if tree is None or len(unit.operands) > MOST_OPERANDS:
            continue
        assert node.operator is not None and first.operator is not None
        most = node.operator.latency + first.operator.latency - int(not unit.scaled)
        found = timing.joint(node.operator, tree, len(unit.operands), most)
        if found is not None:
            node.operands, node.operator = tuple(unit.operands), found
            node.joined = tuple(unit.taken)
            return unit.taken
    return []


def _is_quick_sum(node: Node) -> bool:
    return node.op in _SUMS and node.operator is not None and node.operator.joins


def _taken(node: Node, reader: Node, single: set[int]) -> bool:
    """Whether a unit can compute a node together with the one that reads it."""
    alone = node.number in single and not node.crosses and node.kind == "op"
    return alone and not node.impl and node.guard == reader.guard


@dataclass(slots=True)
class _Unit:
    """A unit as it is put together.

    Attributes:
        single: numbers of the nodes of recurrences that one node alone reads.
        first: the sum that is joined with the one that reads it.
        operands: of the unit.
        taken: the operations before the last one that it takes in.
        scaled: whether a product is among them.
    """

    single: set[int]
    first: Node
    operands: list[Node] = field(default_factory=list)
    taken: list[Node] = field(default_factory=list)
    scaled: bool = False

    def sum_of(self, node: Node) -> Sum | None:
        """A sum; where one operand is a negative, a difference. None for a sum of two negatives."""
        (left, turned), (right, minus) = (self._side(o, node) for o in node.operands)
        minus = minus != (node.op == "arith.subf")
        if left is None or right is None or (turned and minus):
            return None
        return Sum(right, left, minus=True) if turned else Sum(left, right, minus)

    def _side(self, node: Node, reader: Node) -> tuple[Tree | None, bool]:
        """The value of an operand, and whether it is the negative of what is returned."""
        operator = node.operator
        if operator is not None and _taken(node, reader, self.single):
            if node is self.first:
                self.taken.append(node)
                return self.sum_of(node), False
            if operator.name == f"negative_i{node.width}":
                self.taken.append(node)
                tree, turned = self._side(node.operands[0], node)
                return tree, not turned
            constants = [o for o in node.operands if o.kind == "const"]
            if node.op == "arith.mulf" and not operator.latency and constants:
                self.taken.append(node)
                self.scaled = True
                (value,) = (o for o in node.operands if o not in constants)
                tree, turned = self._side(value, node)
                return (None if tree is None else Scaled(tree, constants[0].data)), turned
        if node not in self.operands:
            self.operands.append(node)
        return self.operands.index(node), False
