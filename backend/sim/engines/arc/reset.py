"""What a reset does to the state of an arc model: the constants that registers take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from allo.backend.rtl._circt import ir

from .graph import AND, STATE_WRITE, Graph, Node, Write


@dataclass(frozen=True, slots=True)
class ResetValue:
    """A register's byte offset, its bits, and what it is after a reset."""

    offset: int
    bits: int
    value: int


def reset_values(graph: Graph, reset: Node, known: Mapping[Node, bool]) -> list[ResetValue] | None:
    """The registers that a reset sets; None when one of them takes no constant.

    Registers that do not depend on the reset keep what they hold: no design depends on those.

    Args:
        known: conditions that hold.
    """
    evaluated = _Evaluated(graph, reset, known)
    found = []
    for write in graph.writes:
        if not evaluated.concerns(write):
            continue
        taken = evaluated.holds(write.tests)
        if taken is False:
            continue
        value = evaluated.value(write.operands[1]) if write.op.name == STATE_WRITE else None
        if not taken or value is None:
            return None
        found.append(ResetValue(write.state, _bits(write.operands[1]), value))
    return found


def _bits(node: Node) -> int:
    return int(ir.IntegerType(node.op.results[0].type).width)


class _Evaluated:
    """Values during reset, where they are known."""

    def __init__(self, graph: Graph, reset: Node, known: Mapping[Node, bool]) -> None:
        self._dependent = {reset}
        self._values: dict[Node, int | None] = {node: int(v) for node, v in known.items()}
        self._values[reset] = 1
        for node in graph.nodes:
            if any(operand in self._dependent for operand in node.operands):
                self._dependent.add(node)
            if node not in self._values:
                self._values[node] = self._compute(node)

    def concerns(self, write: Write) -> bool:
        """Whether a write depends on the reset."""
        nodes = (*write.operands[1:], *(node for node, _ in write.tests))
        return any(node in self._dependent for node in nodes)

    def holds(self, tests: list[tuple[Node, bool]]) -> bool | None:
        """Whether conditions hold, as far as the reset alone tells."""
        own = [(self.value(test), wanted) for test, wanted in tests if test in self._dependent]
        if any(value is not None and bool(value) != wanted for value, wanted in own):
            return False
        return None if any(value is None for value, _ in own) else True

    def value(self, node: Node) -> int | None:
        """A value as an unsigned number, or None."""
        return self._values[node]

    def _compute(self, node: Node) -> int | None:
        if node.name == "hw.constant":
            value = ir.IntegerAttr(node.op.attributes["value"]).value
            found: int | None = value & ((1 << _bits(node)) - 1)
            return found
        if node.name == "comb.mux":
            test = self.value(node.operands[0])
            return None if test is None else self.value(node.operands[1 if test else 2])
        if node.name not in (*AND, "comb.or", "comb.xor"):
            return None
        values = [self.value(operand) for operand in node.operands]
        full = (1 << _bits(node)) - 1
        if node.name in AND and 0 in values:
            return 0
        if node.name == "comb.or" and full in values:
            return full
        total = full if node.name in AND else 0
        for value in values:
            if value is None:
                return None
            if node.name in AND:
                total &= value
            else:
                total = total | value if node.name == "comb.or" else total ^ value
        return total
