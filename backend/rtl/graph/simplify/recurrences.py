"""Which nodes of a pipelined body wait for what an earlier iteration stores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..nodes import Body, Node
from ..regions import Exit


@dataclass(frozen=True, slots=True)
class Recurrences:
    """Arrays as bits of a number.

    Attributes:
        reads: by node, those of which loads are behind it, as far as the body stores to them.
        writes: by node, those that stores after it write.
        registers: those of registers, whose words the iteration before has stored.
    """

    reads: Mapping[int, int] = field(default_factory=dict)
    writes: Mapping[int, int] = field(default_factory=dict)
    registers: int = 0

    @classmethod
    def of(cls, body: Body, found: Exit | None) -> Recurrences:
        """Those of a body; ``found`` is what may end its loop, whose guesses are written, too."""
        stored = {
            node.access.array.number
            for node in body.nodes
            if node.kind == "store" and node.access is not None
        }
        reads: dict[int, int] = {}
        writes: defaultdict[int, int] = defaultdict(int)
        registers = 0
        for node in body.nodes:
            mask = 0
            for operand in node.operands:
                mask |= reads.get(operand.number, 0)
            if node.kind == "load" and node.access is not None:
                array = node.access.array
                own = 1 << array.number if array.number in stored else 0
                mask |= own
                registers |= own if array.storage == "reg" else 0
            if mask:
                reads[node.number] = mask
        for guess in found.guesses if found is not None else ():
            if guess.store.access is not None:
                writes[guess.following.number] |= 1 << guess.store.access.array.number
        for node in reversed(body.nodes):
            mask = writes[node.number]
            if node.kind == "store" and node.access is not None:
                mask |= 1 << node.access.array.number
            for operand in node.operands:
                writes[operand.number] |= mask
        return cls(reads, writes, registers)

    def written(self, node: Node) -> int:
        """The arrays that stores after a node write."""
        return self.writes.get(node.number, 0)

    def read(self, node: Node, arrays: int) -> int:
        """Of some arrays, those that a node waits for."""
        return self.reads.get(node.number, 0) & arrays
