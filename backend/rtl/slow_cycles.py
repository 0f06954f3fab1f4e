"""Cycles of operations that a clock is too fast for, whatever the initiation interval.

With a larger interval more registers part the operations of a cycle of dependences, but none parts one
operation that takes longer than the clock period. Such a cycle is told as lines of Python, with the levels of
lookup tables that it is mapped to as a whole, and with the clock that its slowest operation meets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from allo.backend.devices import OperatorDelays

from .graph.nodes import Body, Node
from .graph.prune import bodies_of
from .graph.regions import Function
from .operators.tables.bits import Word
from .operators.tables.words import Mapper, latest
from .plan.explain import short
from .plan.mapped import followers, leaves_of, recurrent, word_of

SHOWN = 8
"""Operations of a cycle that a message names."""


@dataclass(frozen=True, slots=True)
class SlowCycle:
    """A cycle of dependences of a pipelined loop.

    Attributes:
        nodes: in the order in which values pass, the first behind a register where there is one.
        slowest: the operation of it with the longest logic between two registers.
        delay_ns: how long that takes.
    """

    nodes: Sequence[Node]
    slowest: Node
    delay_ns: float

    def levels(self, device: OperatorDelays) -> int:
        """Levels of lookup tables from its first operation to its last; a carry chain is one."""
        mapper = Mapper(_by_levels(device))
        words: dict[int, Word] = {}
        late = 0.0
        for node in self.nodes:
            operands = [words.get(o.number) or leaves_of(mapper, o, 0.0) for o in node.operands]
            word = word_of(mapper, node, operands)
            if word is None:
                word = mapper.tables.leaves(late, node.width)
            words[node.number] = word
            late = max(late, latest(word))
        return ceil(late)

    def told(self, device: OperatorDelays) -> str:
        """The end of a sentence: its operations with their lines, levels, and the clock that it can meet."""
        levels = self.levels(device)
        count = f"{levels} level{'s' if levels != 1 else ''} of lookup tables in all"
        limit = int(device.fastest_mhz(self.delay_ns))
        return (
            f"the cycle {self.chain()} -> again meets at most {limit} MHz, whatever the initiation interval "
            f"({count})."
        )

    @property
    def slowest_name(self) -> str:
        """``add_i32 (sum.py:8:9)``, of its slowest operation."""
        return f"{_name(self.slowest)} ({short(self.slowest.place)})"

    def chain(self) -> str:
        """Its operations: ``add_i32 (sum.py:8:9) -> select_i32 (sum.py:9:13)``."""
        named: list[str] = []
        for node in self.nodes:
            name = _name(node)
            text = f"{name} ({short(node.place)})"
            if name and (not named or named[-1] != text):
                named.append(text)
        if len(named) > SHOWN:
            more = len(named) - SHOWN + 1
            named = [*named[: SHOWN - 1], f"{more} more"]
        return " -> ".join(named)


def slowest_cycle(functions: Iterable[Function]) -> SlowCycle | None:
    """Of the cycles in pipelined loops the one that holds the slowest operation; None where there is none."""
    found: tuple[float, Body, Node] | None = None
    for function in functions:
        for body in bodies_of(function.root):
            for node in recurrent(body) if body.overlaps else ():
                delay = node.operator.slowest_ns if node.operator is not None else 0.0
                if delay > (found[0] if found else 0.0):
                    found = delay, body, node
    if found is None:
        return None
    delay, body, node = found
    return SlowCycle(_around(body, node), node, delay)


def _around(body: Body, node: Node) -> list[Node]:
    """The shortest cycle through a node, from behind a register on."""
    after = followers(body)
    before: dict[int, Node] = {}
    waiting = deque([node])
    while waiting and node.number not in before:
        for reader in after[(last := waiting.popleft()).number]:
            if reader.number not in before:
                before[reader.number] = last
                waiting.append(reader)
    cycle, at = [node], before[node.number]
    while at is not node:
        cycle.append(at)
        at = before[at.number]
    cycle.reverse()
    start = next((k for k, each in enumerate(cycle) if each.kind == "load"), 0)
    return cycle[start:] + cycle[:start]


def _name(node: Node) -> str:
    """What a message calls a node; "" for wires and arithmetic of subscripts."""
    if node.kind in ("load", "store") and node.access is not None:
        array = node.access.array.name
        return f"read of {array}" if node.kind == "load" else f"write of {array}"
    return node.operator.name if node.operator is not None else ""


def _by_levels(device: OperatorDelays) -> OperatorDelays:
    """A family whose delays count levels: a table or a carry chain is one, wires and blocks are none."""
    return replace(
        device,
        gate_ns=1.0,
        mux_ns=1.0,
        fanout_ns=0.0,
        level_ns=1.0,
        joined_ns=0.0,
        carry_ns=1.0,
        carry_bit_ns=0.0,
        compare_bit_ns=0.0,
        shift_ns=0.0,
        dsp_ns=0.0,
    )
