"""Delays of what is not in the operator library, and the budget of a clock cycle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log2

from allo.backend.devices import OperatorDelays
from allo.backend.rtl.float.quick.joint import Tree
from allo.dialects.sums.digits import signed_digits

from ..graph.nodes import Array, Node
from ..operators.spec import Operator

type Joint = Callable[[Operator, Tree, int, int], Operator | None]


@dataclass(frozen=True, slots=True)
class TimingModel:
    """Nanoseconds of one device family at one clock.

    Attributes:
        budget: logic that fits between two registers.
        quicker: the operator in fewer cycles, and more tables, that can take the place of a node's.
        improve: leaves a scheduled body with the best schedule (:meth:`.exact.search.Exact.improve`);
            None where it keeps the first one found.
        joint: the operator that computes what a tree says of so many operands, in place of one for its last
            operation; None where it takes more than so many cycles.
    """

    device: OperatorDelays
    budget: float
    quicker: Callable[[Node], Operator | None] = lambda _: None
    improve: Callable[..., int | None] | None = None
    joint: Joint = lambda *_: None

    @property
    def late_returns(self) -> bool:
        """Whether a process learns a cycle later that a place it keeps in a FIFO is free again."""
        return self.device.return_ns > self.budget

    @classmethod
    def of(
        cls,
        device: OperatorDelays,
        clock_mhz: float,
        quicker: Callable[[Node], Operator | None] = lambda _: None,
        improve: Callable[..., int | None] | None = None,
        joint: Joint = lambda *_: None,
    ) -> TimingModel:
        """The model of a family at a clock."""
        return cls(device, device.budget_ns(clock_mhz), quicker, improve, joint)

    def entry(self, node: Node) -> float:
        """Logic from a node's operands to its result, or to its first register."""
        match node.kind:
            case "op":
                assert node.operator is not None
                return node.operator.delay_ns
            case "lin":
                return self._linear(node)
            case "load" if node.access is not None and node.access.array.read_latency == 0:
                passed = self.device.glue_ns if node.access.forwarded else 0.0
                return passed + (0.0 if node.access.bank is not None else self._choice(node))
            case "load" if node.access is not None and self._small(node.access.array):
                return self._selection(node.access.array)
            case "check" | "exit":
                return self.device.glue_ns
            case "get" | "put" if node.width:
                return max(self.device.memory_in_ns, self.device.stream_ns)
            case "load" | "store" | "put":
                return self.device.memory_in_ns
        return 0.0

    def exit(self, node: Node) -> float:
        """Logic from the last register inside a node to its result, which is a unit's register itself."""
        if node.kind == "load" and node.access is not None:
            forwarded = self.device.glue_ns if node.access.forwarded else 0.0
            return forwarded + (0.0 if node.access.late else self._word(node))
        return 0.0

    def can_be_late(self, node: Node) -> bool:
        """Whether the word of a load reaches a register behind the memory."""
        return self._word(node) <= self.budget

    def _word(self, node: Node) -> float:
        """How late the word of a load comes from its memory."""
        assert node.access is not None
        array = node.access.array
        word = 0.0 if node.access.bank is not None else self._choice(node)
        if self._small(array):
            return word
        if array.storage == "ram":
            word += self.device.memory_old_ns
        return word + self.device.memory_out_ns

    def _small(self, array: Array) -> bool:
        """Whether an array is made of lookup tables, with a register behind them."""
        bits = array.depth * array.width
        return array.storage in ("ram", "rom") and bits <= self.device.small_memory

    def _selection(self, array: Array) -> float:
        """From an address to a word of an array of lookup tables."""
        rows = max(1, ceil(array.depth / 2**self.device.fanin))
        return self.device.glue_ns * (1 + ceil(log2(rows) / 2))

    def _choice(self, node: Node) -> float:
        assert node.access is not None
        return self.choice(len(node.access.banks()))

    def choice(self, words: int) -> float:
        """A choice among so many words, by a select each."""
        doublings = log2(max(2, words))
        if self.device.choice_ns:
            return max(self.device.level_ns, self.device.choice_ns * doublings)
        return self.device.glue_ns * ceil(doublings / 2)

    def _linear(self, node: Node) -> float:
        adders = len(node.data.terms) - 1 + (1 if node.data.const else 0)
        adders += sum(max(0, len(signed_digits(k)) - 1) for _, k in node.data.terms)
        if not adders:
            return 0.0
        return ceil(log2(adders + 1)) * self.sum_ns(node.width)

    def sum_ns(self, bits: int) -> float:
        """One adder of index arithmetic."""
        return self.device.glue_ns + self.device.glue_bit_ns * bits
