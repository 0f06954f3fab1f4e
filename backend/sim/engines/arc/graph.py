"""An arc model as a graph in Python: what computes, what reads, what is written under what.

Asking the bindings costs a microsecond a time, so each operation is asked once.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from allo.backend.rtl._circt import ir

AND = ("comb.and", "arith.andi")
STATE_READ, MEMORY_READ = "arc.state_read", "arc.memory_read"
STATE_WRITE, MEMORY_WRITE = "arc.state_write", "arc.memory_write"
STORAGE = "arc.storage.get"
_READS = frozenset((STATE_READ, MEMORY_READ))
_COPIED = frozenset((STATE_READ, STORAGE))
_HAVE_OFFSETS = (
    STORAGE,
    "arc.root_input",
    "arc.root_output",
    "arc.alloc_state",
    "arc.alloc_memory",
)


class UnknownFormError(Exception):
    """The model is not of the form that is known."""


@dataclass(slots=True, eq=False)
class Node:
    """An operation with a result.

    Attributes:
        state: byte offset of the register or memory that it names or reads, or -1.
        reads: whether it reads a register or a memory.
        is_constant: whether it depends on nothing, the storage itself excepted.
        is_copied: whether to do it again costs no more than to keep its value.
    """

    op: ir.Operation
    name: str
    operands: list[Node]
    state: int = -1
    reads: bool = field(init=False)
    is_constant: bool = field(init=False)
    is_copied: bool = field(init=False)

    def __post_init__(self) -> None:
        name = self.name
        self.reads = name in _READS
        self.is_constant = not self.operands and name != STORAGE
        self.is_copied = name in _COPIED


@dataclass(slots=True, eq=False)
class Write:
    """A write, or another operation without results.

    Attributes:
        tests: the conditions around it, and whether each must hold.
        state: byte offset of the register or memory that is written, or -1.
    """

    op: ir.Operation
    operands: list[Node]
    tests: list[tuple[Node, bool]]
    state: int = -1


@dataclass(slots=True)
class Graph:
    """The operations of a model in order.

    Attributes:
        old: branches and doubled reads that the graph has no use for.
        read: the read of each register, by its byte offset.
    """

    block: ir.Block
    nodes: list[Node] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    old: list[ir.Operation] = field(default_factory=list)
    read: dict[int, Node] = field(default_factory=dict)
    _of: dict[ir.Value, Node] = field(default_factory=dict)

    def add(self, op: ir.Operation, name: str) -> Node:
        """A node for an operation whose operands all have theirs."""
        results = op.results
        if len(results) != 1:
            raise UnknownFormError
        known = self._of
        operands = [node for value in op.operands if (node := known.get(value)) is not None]
        node = Node(op, name, operands)
        if name in _HAVE_OFFSETS:
            if operands:
                raise UnknownFormError  # within a storage of its own
            node.state = ir.IntegerAttr(op.attributes["offset"]).value
        elif node.reads:
            node.state = self._state(operands)
        known[results[0]] = node
        self.nodes.append(node)
        return node

    def _state(self, operands: list[Node]) -> int:
        """The offset of what a read or write accesses."""
        if not operands or operands[0].state < 0:
            raise UnknownFormError
        return operands[0].state

    def _add_read(self, op: ir.Operation) -> None:
        """Take in a read of a register: reads of one register are one."""
        known = self.read.get(self._of[op.operands[0]].state)
        if known is None:
            node = self.add(op, STATE_READ)
            self.read[node.state] = node
            return
        op.results[0].replace_all_uses_with(known.op.results[0])
        self.old.append(op)

    def create(
        self,
        name: str,
        kind: ir.Type,
        operands: list[Node],
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> Node:
        """A node for a new operation, which waits at the end of the block for its place."""
        with ir.InsertionPoint(self.block):
            op = ir.Operation.create(
                name,
                results=[kind],
                operands=[node.op.results[0] for node in operands],
                attributes=attributes or {},
            )
        return self.add(op, name)

    def collect(
        self, block: ir.Block, tests: list[tuple[Node, bool]], dropped: Container[int]
    ) -> None:
        """Take in a block under conditions; writes at the offsets ``dropped`` are erased."""
        for view in block.operations:
            op = view.operation
            name = op.name
            if name == "scf.if":
                if len(op.results):
                    raise UnknownFormError
                self.old.append(op)
                test = self._of[op.operands[0]]
                self.collect(op.regions[0].blocks[0], [*tests, (test, True)], dropped)
                if len(op.regions[1].blocks):
                    self.collect(op.regions[1].blocks[0], [*tests, (test, False)], dropped)
            elif name == STATE_READ:
                self._add_read(op)
            elif len(op.results):
                self.add(op, name)
            elif name != "scf.yield":
                operands = [node for v in op.operands if (node := self._of.get(v)) is not None]
                write = Write(op, operands, tests)
                if name in (STATE_WRITE, MEMORY_WRITE):
                    write.state = self._state(operands)
                if write.state in dropped:
                    self.old.append(op)
                else:
                    self.writes.append(write)
