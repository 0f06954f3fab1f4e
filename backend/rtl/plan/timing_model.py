"""Delays of what is not in the operator library, and the budget of a clock cycle."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

from ..graph.nodes import Node
from ..operators.digits import signed_digits


@dataclass(frozen=True, slots=True)
class TimingModel:
    """Nanoseconds of one device family.

    Attributes:
        budget: logic that fits between two registers.
        lut: one level of logic with its wire.
        carry: a bit of carry chain.
        memory_out: clock to data of a RAM; ``memory_in`` setup of its address and data.
    """

    budget: float
    lut: float = 0.35
    carry: float = 0.02
    memory_out: float = 1.2
    memory_in: float = 0.5

    def entry(self, node: Node) -> float:
        """Logic from a node's operands to its result, or to its first register."""
        match node.kind:
            case "op":
                assert node.operator is not None
                return node.operator.delay_ns
            case "lin":
                return self._linear(node)
            case "load" if node.access is not None and node.access.array.read_latency == 0:
                return 0.0 if node.access.bank is not None else self._choice(node)
            case "check" | "exit":
                return self.lut
            case "load" | "store" | "put" | "get":
                return self.memory_in
        return 0.0

    def exit(self, node: Node) -> float:
        """Logic from the last register inside a node to its result."""
        if node.kind == "op":
            assert node.operator is not None
            return node.operator.delay_ns
        if node.kind == "load":
            extra = (
                0.0 if node.access is None or node.access.bank is not None else self._choice(node)
            )
            extra += self.lut if node.access is not None and node.access.bypass else 0.0
            return self.memory_out + extra
        return 0.0

    def _choice(self, node: Node) -> float:
        assert node.access is not None
        return self.lut * ceil(log2(max(2, len(node.access.banks()))) / 2)

    def _linear(self, node: Node) -> float:
        adders = len(node.data.terms) - 1 + (1 if node.data.const else 0)
        adders += sum(max(0, len(signed_digits(k)) - 1) for _, k in node.data.terms)
        if not adders:
            return 0.0
        return ceil(log2(adders + 1)) * (self.lut + self.carry * node.width)
