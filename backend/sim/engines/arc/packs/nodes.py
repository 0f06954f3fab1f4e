"""A design as packs: what all instances of a module compute alike is one node with a lane for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


class UnpackableError(Exception):
    """The design has something that packs do not know; another form of model serves it."""


INPUT, CONSTANT, GATHER, REGISTER, MEMORY, READ, ALL, ANY = (
    "input",
    "constant",
    "gather",
    "register",
    "memory",
    "read",
    "all",
    "any",
)
"""Kinds of nodes that are no operation of CIRCT's ``comb``."""


@dataclass(slots=True, eq=False)
class Node:
    """A signal of all instances of a module.

    Attributes:
        kind: the operation, or one of the kinds above.
        width: bits of one lane.
        lanes: instances.
        args: what it is computed from. Of a gather, the nodes it takes lanes from.
        detail: of an input its name, of a constant its value, of a comparison its predicate, of an extract
            its lowest bit.
        taken: of a gather, for each lane the number of the argument and the lane there.
        masks: where each lane is the conjunction (``all``) or disjunction (``any``) of lanes of its
            arguments, for each argument the mask of each lane.
    """

    kind: str
    width: int
    lanes: int
    args: list[Node] = field(default_factory=list)
    detail: str | int = 0
    taken: list[tuple[int, int]] = field(default_factory=list)
    masks: list[list[int]] = field(default_factory=list)

    @property
    def is_vector(self) -> bool:
        """Whether it is kept in vectors: lanes of more than one bit."""
        return self.lanes > 1 and self.width > 1

    @property
    def is_bits(self) -> bool:
        """Whether it is kept as one word with a bit for each lane."""
        return self.lanes > 1 and self.width == 1


def origin_of(node: Node, lane: int = 0) -> tuple[Node, int]:
    """Where a scalar comes from that is a lane of another node."""
    while node.kind == GATHER and node.lanes == 1:
        ((_, lane),) = node.taken
        (node,) = node.args
    return node, lane


@dataclass(slots=True, eq=False)
class Register:
    """A register of all instances.

    Attributes:
        node: what it holds.
        value: what it takes; when ``enable`` is set, if there is one.
        reset: when it takes ``reset_value`` instead.
        names: its hierarchical name in each instance; empty where it has none.
        group: a number for its module.
    """

    node: Node
    value: Node
    enable: Node | None
    reset: Node | None
    reset_value: int
    names: list[str]
    group: int

    @property
    def sources(self) -> list[Node]:
        """What decides what it holds next."""
        return [n for n in (self.value, self.enable, self.reset) if n is not None]


@dataclass(slots=True, eq=False)
class Memory:
    """A memory of all instances, read in the same cycle.

    Attributes:
        node: the memory, as its reads name it.
        depth: words.
        writes: address, data and condition of each port.
    """

    node: Node
    depth: int
    writes: list[tuple[Node, Node, Node | None]]

    @property
    def sources(self) -> list[Node]:
        """What decides what is written."""
        return [node for write in self.writes for node in write if node is not None]


@dataclass(slots=True)
class Packed:
    """A whole design.

    Attributes:
        inputs: of the top, in order, with their widths.
        outputs: of the top, in order.
    """

    inputs: list[tuple[str, int]]
    outputs: list[tuple[str, Node]]
    registers: list[Register]
    memories: list[Memory]

    @property
    def roots(self) -> list[Node]:
        """All that registers, memories and outputs depend on directly."""
        return [*sources_of(self.registers, self.memories), *(node for _, node in self.outputs)]


def sources_of(registers: Sequence[Register], memories: Sequence[Memory]) -> list[Node]:
    """All that some registers and memories depend on directly."""
    found = [node for register in registers for node in register.sources]
    return found + [node for memory in memories for node in memory.sources]
