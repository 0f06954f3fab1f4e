"""Bits at positions known at compile time are wires: constant shifts, masks, words made slice by slice.

``word[8:16] = x`` is ``word & ~mask | x << 8`` in the core IR. Here it is one node ``insert``, and
:mod:`allo.backend.rtl.graph.words` makes one concatenation of all that follow each other.
"""

from __future__ import annotations

from ...graph.nodes import Node
from ...graph.words import is_zero, top_of
from .builder import Builder


def shifted(builder: Builder, op: str, node: Node, amount: int) -> Node:
    """A value shifted by a constant; an amount of the width or more leaves zeros, or sign bits."""
    width = node.width
    if op == "arith.shrsi":
        amount = min(amount, width - 1)
    if amount >= width:
        return builder.const(0, width)
    if amount == 0:
        return node
    if op == "arith.shli":
        return _placed(builder, builder.wire("slice", node, width - amount), amount, width)
    kept = builder.wire("slice", node, width - amount, amount)
    return builder.wire("sext" if op == "arith.shrsi" else "zext", kept, width)


def masked(builder: Builder, node: Node, mask: int) -> Node | None:
    """A value and a constant whose ones, or whose zeros, are next to each other; None for another."""
    width = node.width
    field = _run(mask)
    if field is not None:
        low, bits = field
        return _placed(builder, builder.wire("slice", node, bits, low), low, width)
    hole = _run(mask ^ (1 << width) - 1)
    if hole is None:
        return None
    low, bits = hole
    return builder.insert(node, builder.const(0, bits), low)


def joined(builder: Builder, a: Node, b: Node) -> Node | None:
    """``a | b`` where one is a field that lies where the other is known to be zero, else None."""
    for word, other in ((a, b), (b, a)):
        field = _field(other) if other.body is builder.body else None
        if field is None:
            continue
        value, low = field
        high = low + value.width
        if low >= top_of(word):
            return _above(builder, word, value, low)
        if word.kind != "wire" or word.data[0] != "insert" or word.body is not builder.body:
            continue
        before, hole = word.operands
        start = word.data[1]
        end = start + hole.width
        if is_zero(hole) and start <= low and high <= end:
            whole = (start, end) == (low, high)
            return builder.insert(before if whole else word, value, low)
    return None


def _above(builder: Builder, word: Node, value: Node, low: int) -> Node:
    """A value above a word that is zero from there on."""
    if word.kind != "wire" or word.data[0] != "zext" or word.body is not builder.body:
        return builder.insert(word, value, low)
    parts = [builder.wire("slice", word, low), value]
    rest = word.width - low - value.width
    return builder.concat([*parts, builder.const(0, rest)] if rest else parts)


def _placed(builder: Builder, value: Node, low: int, width: int) -> Node:
    """A value at a position of a word that is zero elsewhere."""
    extended = builder.wire("zext", value, width - low)
    if not low:
        return extended
    if extended.kind == "const":
        return builder.const(extended.data << low, width)
    return builder.concat((builder.const(0, low), extended))


def _field(node: Node) -> tuple[Node, int] | None:
    """The value and the position of a word that is zero elsewhere, as :func:`_placed` made it."""
    low = 0
    if node.kind == "wire" and node.data[0] == "concat" and len(node.operands) == 2:
        zeros, node = node.operands
        if not is_zero(zeros):
            return None
        low = zeros.width
    elif node.kind != "wire" or node.data[0] != "zext":
        return None
    if node.kind == "wire" and node.data[0] == "zext":
        return node.operands[0], low
    return node, low


def _run(mask: int) -> tuple[int, int] | None:
    """Position and number of the ones of a mask, if they are next to each other."""
    if not mask:
        return None
    low = (mask & -mask).bit_length() - 1
    ones = mask >> low
    return (low, ones.bit_length()) if not ones & ones + 1 else None
