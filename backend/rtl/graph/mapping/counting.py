"""Sums of single bits, or of numbers of two, as columns of bits, where tables count these for less."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from allo.dialects.ranges.interval import Interval

from ...operators.compressors import LEAST, OF_BITS, OF_GATES, saves
from ..chains import Leaf
from ..making import Maker
from ..nodes import Node
from ..spans import bits_of

MOST_BITS = 2
"""Of a number that is counted: 1, 0 and -1 have two."""
_GATES = frozenset({"arith.xori", "arith.andi", "arith.ori"})


def narrow_leaves(
    leaves: Sequence[Leaf], cycles: Mapping[int, int]
) -> tuple[list[Leaf], list[list[Leaf]]]:
    """What is added as it is, and sets of narrow operands that come in one cycle and are many enough.

    Args:
        cycles: in which operands come, by the number of their node; 0 of others.
    """
    by_cycle: defaultdict[int, list[Leaf]] = defaultdict(list)
    others: list[Leaf] = []
    for leaf in leaves:
        narrow = leaf.node.kind != "const" and bits_of(leaf.span) <= MOST_BITS
        (by_cycle[cycles.get(leaf.node.number, 0)] if narrow else others).append(leaf)
    sets: list[list[Leaf]] = []
    for _, found in sorted(by_cycle.items()):
        if len(found) >= LEAST:
            sets.append(found)
        else:
            others += found
    return others, sets


def counted(leaves: Sequence[Leaf], maker: Maker, span: Interval, width: int) -> Leaf | None:
    """The sum of narrow operands as columns of bits; None where adders are as small.

    A bit that counts negative is inverted, and a constant makes up for it: ``-b`` is ``(1 - b) - 1``.
    """
    plain: defaultdict[int, list[Node]] = defaultdict(list)
    turned: defaultdict[int, list[Node]] = defaultdict(list)
    constant = 0
    for leaf in leaves:
        bits = bits_of(leaf.span)
        for place in range(bits):
            minus = leaf.negative != (leaf.signed and place == bits - 1)
            bit = maker.sized(leaf.node, 1, signed=False, low=place)
            (turned if minus else plain)[place].append(bit)
            constant -= minus << place
    heights = [len(plain[k]) + len(turned[k]) for k in range(MOST_BITS)]
    if not saves(maker.fanin, heights, width):
        return None
    gates = all(_is_gate(leaf.node) for leaf in leaves)
    columns: list[Node] = []
    for place in range(max(k for k, n in enumerate(heights) if n) + 1):
        parts = list(plain[place])
        if turned[place]:
            word = maker.joined(turned[place])
            parts.append(maker.op("arith.xori", (word, maker.const(-1, word.width)), word.width))
        columns.append(maker.joined(parts) if parts else maker.const(0, 1))
    operands = (*columns, maker.const(constant, width))
    node = maker.op(OF_GATES if gates else OF_BITS, operands, width)
    return Leaf(node, span[0] < 0, span)


def _is_gate(node: Node) -> bool:
    """Whether a bit is that of a gate of two variables, which the tables that read it take in."""
    while node.kind == "wire" and node.data[0] in ("slice", "sext", "zext"):
        node = node.operands[0]
    return node.op in _GATES and all(o.kind != "const" for o in node.operands)
