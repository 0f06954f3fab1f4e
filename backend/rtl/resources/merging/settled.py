"""Bits of registers that are known though something is written to them: those that only ever get one value.

A bit that each multiplexer in front of its register keeps, or makes one and the same constant, is that
constant to Yosys (``opt_dff``): nothing tells what it is before. So are bits of registers behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ..nodes import ONE, ZERO, Node, Run, Value, aligned, cut, part_of

Settled = Mapping[str, Mapping[int, int]]
"""By register the bits that are known: the node of a constant."""
NOTHING_SETTLED: Settled = MappingProxyType({})
_FOLLOWED = 64
"""Choices that are followed in front of a register."""


def settled_bits(
    nodes: Sequence[Node],
    held: Value,
    data: Value,
    *,
    resets: bool,
    alone: Callable[[int], bool],
) -> dict[int, int]:
    """The bits of a register that are known.

    Args:
        held: the register's value; ``data``: what is written to it.
        resets: whether a reset makes it zero.
        alone: whether nothing else reads a node: synthesis leaves a choice that others read, too.
    """
    found: dict[int, int] = {}
    for low, count, (own, written) in aligned([held, data]):
        if own[0] < 0 or written[0] >= 0 and not alone(written[0]):
            continue
        only = _only_constant(nodes, own, written)
        if only == ZERO or only == ONE and not resets:
            found.update(dict.fromkeys(range(low, low + count), only))
    return found


def with_settled(value: Value, settled: Mapping[int, int]) -> list[Value]:
    """The parts of a value, from below, with its settled bits as constants."""
    width = sum(run[2] for run in value)
    parts: list[Value] = []
    at = 0
    for bit, known in sorted(settled.items()):
        if bit > at:
            parts.append(cut(value, at, bit - at))
        parts.append(((known, 0, 1),))
        at = bit + 1
    return [*parts, cut(value, at, width - at)] if at < width else parts


def _only_constant(nodes: Sequence[Node], own: Run, written: Run) -> int:
    """The constant that is all that is written beside the register's own bits; 0 where it is not so."""
    only = 0
    seen: set[Run] = {own}
    stack = [written]
    while stack and len(seen) < _FOLLOWED:
        run = stack.pop()
        if run in seen:
            continue
        if run[0] < 0:
            if only not in (0, run[0]):
                return 0
            only = run[0]
            continue
        seen.add(run)
        node = nodes[run[0]]
        if node.kind != "logic" or not node.detail.startswith(("gate", "mux")):
            return 0
        operands = [part_of(run, value[0]) for value in node.operands]
        stack += operands[1:]
        if node.detail.startswith("gate"):
            stack.append((ONE if str(ONE) in node.detail else ZERO, 0, run[2]))
    return 0 if stack else only
