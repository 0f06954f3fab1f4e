"""How long signals take through cells: tables, carry chains, shifters, multiplier blocks and memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, log, log2

from allo.backend.devices import Cells, SignalDelays

from ..block_registers import BlockRegisters
from ..cover import Cover
from ..memory import Memory, levels_of_rows
from ..merging.gates import levels_of
from ..nodes import Node, is_constant, width_of

CHOICE = 6
"""Inputs of a choice among four bits, which two stages of a shifter are together."""


class CellDelays:
    """The delays of the cells that the nodes of one module become, with the wires to them.

    Args:
        inside: the registers of its multiplier blocks.
        readers: lookup tables that read each leaf.

    Attributes:
        memory_of: the memory that each node reads.
        of_registers: the nodes that read one of flip-flops.
    """

    def __init__(
        self,
        cover: Cover,
        nodes: Sequence[Node],
        family: Cells,
        delays: SignalDelays,
        inside: BlockRegisters,
        readers: Counter[tuple[int, int]],
    ) -> None:
        self._cover, self._nodes, self._family, self._d = cover, nodes, family, delays
        self._joined = cover.sums.terms if cover.sums is not None else {}
        self._inside, self._readers = inside, readers
        self.memory_of: dict[int, Memory] = {}
        self.of_registers: set[int] = set()

    def delay(self, number: int, node: Node) -> float:
        """Through a node."""
        d = self._d
        wire = d.wire + d.spread * max(0.0, log2(max(1, self._fanin_spread(node)) / 8))
        match node.kind:
            case "logic":
                return self._tables(len(node.leaves), node.associative) + wire - d.wire
            case "add":
                return self.rows(number) + self.chain(node)
            case "less":
                width = width_of(node.operands[0])
                return wire + d.carry + (d.compare_bit or d.carry_bit) * width
            case "equal":
                bits = sum(n >= 0 for v in node.operands for n, _, c in v for _ in range(c))
                return self._tables(bits, True)
            case "shift":
                return self._shift(node)
            case "multiply":
                return self._product(number, node)
            case "read":
                return self._read(number)
        return 0.0

    def chain(self, node: Node) -> float:
        """The carry chain of a sum."""
        d = self._d
        if node.in_block and d.block_sum:
            return d.block_sum
        wire = d.wire + d.spread * max(0.0, log2(max(1, self._fanin_spread(node)) / 8))
        return wire + d.carry + d.carry_bit * max(1, node.made.bit_length())

    def rows(self, number: int) -> float:
        """The rows of full adders in front of the chain of a sum of many terms."""
        return self.row_levels(number) * (self._d.wire + self._d.table)

    def row_levels(self, number: int) -> int:
        """How many of these rows are behind one another."""
        terms = len(self._joined[number]) if number in self._joined else 2
        return ceil(log(terms / 2, 1.5) - 0.01)

    def planned(self, number: int, node: Node) -> float:
        """What synthesis takes for the delay of a node that is neither logic nor a carry chain."""
        mapping = self._d.mapping
        if mapping is None or node.kind not in ("shift", "read"):
            return 0.0
        if node.kind == "read" and number not in self.of_registers:
            return mapping.through(1)
        choices = (
            min(
                sum(c for n, _, c in node.operands[1] if n >= 0),
                width_of(node.operands[0]).bit_length(),
            )
            if node.kind == "shift"
            else ceil(log2(max(2, self.memory_of[number].words)))
        )
        return ceil(choices / 2) * mapping.through(CHOICE)

    def _fanin_spread(self, node: Node) -> int:
        """Readers of a bit that all bits of a node read: those of the node, and of others like it."""
        if node.kind != "logic":
            return 1
        return max((self._readers[leaf] for leaf in node.leaves if leaf[1] < 0), default=1)

    def _tables(self, inputs: int, tree: bool) -> float:
        """A function of so many inputs."""
        d, most = self._d, self._family.inputs
        if inputs <= most:
            return d.wire + d.table
        if tree:
            levels = levels_of(inputs, most) if self._family.merges else log(inputs, most)
            return levels * (d.wire + d.table)
        return d.wire + d.table + d.joined * (inputs - most)

    def _product(self, number: int, node: Node) -> float:
        d, sums = self._d, self._cover.sums_of_blocks(node)
        if sums < 0:
            return 3 * (d.wire + d.table)
        chain = d.wire + d.carry + d.carry_bit * node.made.bit_length()
        operands = {n for value in node.operands for n, _, _ in value if n >= 0}
        entering = 0.0 if operands <= self._inside.front else d.wire + d.far
        leaving = 0.0 if number in self._inside.products else d.far
        return entering + d.block + leaving + sums * chain

    def _read(self, number: int) -> float:
        memory, d = self.memory_of[number], self._d
        if number in self.of_registers and d.joined_inputs >= CHOICE:
            # of its choices among four words a late address passes one multiplexer each
            return ceil(log2(max(2, memory.words)) / 2) * (d.wire + d.table + d.joined)
        if not self._family.table_memory and not memory.table:
            return ceil(log2(max(2, memory.words))) * (d.wire + d.table)
        rows = max(1, ceil(memory.words / (16 if self._family.inputs == 4 else 64)))
        return d.wire + d.table + ceil(log2(rows) / 2) * (d.wire + d.table)

    def behind_blocks(self, memory: Memory) -> float:
        """What chooses a word of the blocks of a memory, or the one before a write."""
        d = self._d
        level = d.wire + d.table
        if d.joined_inputs < CHOICE:
            return level
        rows = levels_of_rows(self._family, memory)
        return max(level, rows * (level + 2 * d.joined) + (d.far if rows else 0.0))

    def _shift(self, node: Node) -> float:
        """A shift by a variable, or one of a constant."""
        d, width = self._d, width_of(node.operands[0])
        moving = sum(count for n, _, count in node.operands[1] if n >= 0)
        stages = min(moving, ceil(log2(width + 1)))
        if is_constant(node.operands[0]):
            return self._tables(stages, True)
        if d.shift:
            return d.shift * min(moving, ceil(log2(width)))
        if d.joined_inputs >= CHOICE:
            return ceil(stages / 2) * (d.wire + d.table + 2 * d.joined)
        per = 1 if self._family.inputs == 4 else 2
        return ceil(stages / per) * (d.wire + d.table + 0.5 * d.joined)
