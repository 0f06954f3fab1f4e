"""Choices of what no condition reaches, taken out.

``if c: x += a else: x -= b`` reads as ``not c ? x1 - b : x1`` with ``x1 = c ? x + a : x``. Where ``not c``
holds, ``x1`` is ``x``, and where it does not, ``x + a``. So this is ``c ? x + a : x - b``: the old value
takes no multiplexer, and no register in a pipeline. Sums keep their chains until they are trees
(:mod:`..trees`), which is why this comes after it.
"""

from __future__ import annotations

from collections import Counter

from ..nodes import Body, Node
from ..prune import bodies_of, count_uses
from ..regions import Function

SELECT = "arith.select"
DEEPEST = 8
"""Operations between a choice and one inside its operands."""


def settle_choices(function: Function, static: Body) -> bool:
    """Let the operands of every choice hold no other choice by the same condition, in place.

    An operation in between is changed where it serves that choice alone. Nodes that are no longer used stay,
    for :func:`~..prune.prune`.

    Returns:
        Whether anything changed.
    """
    bodies = [b for b in bodies_of(function.root) if any(n.op == SELECT for n in b.nodes)]
    if not bodies:
        return False
    uses = count_uses(function, static)
    for body in bodies_of(function.root):
        for node in body.nodes:
            uses.update(other.number for other in _held(node))
    changed = False
    for body in bodies:
        settling = _Settling(body, uses)
        for node in body.nodes:
            if node.op == SELECT:
                settling.run(node)
        changed = changed or settling.changed
    return changed


def _held(node: Node) -> list[Node]:
    """The nodes that an access or a stream operation names beside its operands."""
    found = [node.predicate]
    if node.access is not None:
        access = node.access
        found += [access.gate, access.predicate, access.data, access.word_node, access.bank_node]
    return [other for other in found if other is not None]


class _Settling:
    """The choices of one body.

    ``uses`` are at least those of each node. ``changed`` says whether an operand had to be settled.
    """

    def __init__(self, body: Body, uses: Counter[int]) -> None:
        self._body = body
        self._uses = uses
        self.changed = False

    def run(self, choice: Node) -> None:
        """Settle the operands of one choice.

        Its condition stays the node it is, since a load may wait for that node.
        """
        condition, then, other = choice.operands
        self._read(
            choice,
            condition,
            self._under(then, condition, True, DEEPEST),
            self._under(other, condition, False, DEEPEST),
        )

    def _under(self, value: Node, condition: Node, holds: bool, deep: int) -> Node:
        """What a value is where a condition holds, or does not."""
        while value.op == SELECT:
            inner, then, other = value.operands
            if inner is condition:
                value = then if holds else other
            elif negated(inner) is condition or negated(condition) is inner:
                value = other if holds else then
            else:
                break
        alone = self._uses[value.number] == 1 and not value.crosses
        if deep and alone and value.body is self._body and value.kind in ("op", "wire"):
            reached = [self._under(v, condition, holds, deep - 1) for v in value.operands]
            self._read(value, *reached)
        return value

    def _read(self, node: Node, *operands: Node) -> None:
        """Give a node its operands; what they no longer are counts as used still."""
        for before, now in zip(node.operands, operands, strict=True):
            if now is not before:
                self._uses[now.number] += 1
                self.changed = True
        node.operands = operands


def negated(bit: Node) -> Node | None:
    """The bit of which another one is the negation."""
    if bit.operator is None or bit.operator.name != "xor_i1":
        return None
    value, mask = bit.operands
    return value if mask.kind == "const" and mask.data == 1 else None
