"""One adder where a condition chooses between two sums or differences.

``c ? a + b : a - b`` is one carry chain, in front of whose second operand an exclusive-or stands, and
``c ? a + x : a + y`` is ``a + (c ? x : y)``. Of the first, Yosys 0.70 makes two carry chains and a row of
multiplexers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ...operators.library import OperatorLibrary
from ..making import Maker
from ..nodes import Body, Node
from ..prune import bodies_of, count_uses
from ..regions import Function
from .choices import SELECT, negated

_SIGNS = {"arith.addi": False, "arith.subi": True}


@dataclass(frozen=True, slots=True)
class _Sum:
    """``base`` plus or minus ``addend``."""

    base: Node
    addend: Node
    minus: bool


def join_sums(function: Function, static: Body, library: OperatorLibrary) -> bool:
    """Make one adder of the two that a choice reads, where nothing else reads them, in place.

    Adders that take cycles stay. So do nodes that are no longer used, for :func:`~..prune.prune`.

    Returns:
        Whether anything changed.
    """
    bodies = [b for b in bodies_of(function.root) if any(n.op == SELECT for n in b.nodes)]
    uses = count_uses(function, static) if bodies else Counter[int]()
    changed = False
    for body in bodies:
        found: list[Node] = []
        for node in body.nodes:
            sides = _sides(node, uses) if node.op == SELECT else None
            if sides is not None:
                maker = Maker(function, body, library, node)
                if _join(node, *sides, maker):
                    found += maker.made
                    changed = True
            found.append(node)
        body.nodes = found
    return changed


def _sides(choice: Node, uses: Counter[int]) -> tuple[_Sum, _Sum] | None:
    """The two sums of a choice, with one base."""
    _, then, other = choice.operands
    for first in _readings(then, choice, uses):
        for second in _readings(other, choice, uses):
            if first.base is second.base and first.base.kind != "const":
                return first, second
    return None


def _readings(node: Node, choice: Node, uses: Counter[int]) -> list[_Sum]:
    """The ways to read an operand of a choice as a sum that nothing else reads."""
    while _only_here(node, choice, uses) and _is_whole(node):
        node = node.operands[0]
    if node.op not in _SIGNS or node.latency or node.impl or not _only_here(node, choice, uses):
        return []
    a, b = (_plain(operand) for operand in node.operands)
    minus = _SIGNS[node.op]
    return [_Sum(a, b, minus), *([] if minus else [_Sum(b, a, False)])]


def _opposite(condition: Node, maker: Maker) -> Node:
    plain = negated(condition)
    return plain or maker.op("arith.xori", (condition, maker.const(1, 1)), 1)


def _only_here(node: Node, choice: Node, uses: Counter[int]) -> bool:
    return uses[node.number] == 1 and not node.crosses and node.body is choice.body


def _is_whole(node: Node) -> bool:
    """Whether a wire is its operand and no other bits."""
    return node.kind == "wire" and node.data[0] != "concat" and _same_width(node)


def _same_width(node: Node) -> bool:
    return len(node.operands) == 1 and node.operands[0].width == node.width


def _plain(node: Node) -> Node:
    """A node, or what it is another name of."""
    while _is_whole(node):
        node = node.operands[0]
    return node


def _join(choice: Node, then: _Sum, other: _Sum, maker: Maker) -> bool:
    """Make a choice the sum of what is chosen; whether it takes no cycle."""
    condition, width = choice.operands[0], choice.width
    first, second = then.addend, other.addend
    minus = then.minus
    sign: Node | None = None
    if then.minus != other.minus:
        if first.kind == second.kind == "const":
            minus = False
            first, second = (
                maker.const(-s.addend.data if s.minus else s.addend.data, width)
                for s in (then, other)
            )
        else:
            sign = condition if then.minus else _opposite(condition, maker)
    if first is not second:
        first = maker.op(SELECT, (condition, first, second), width)
    name = "arith.subi" if sign is None and minus else "arith.addi"
    operands = (then.base, first, *(() if sign is None else (sign,)))
    operator = maker.operator(name, operands, width)
    if operator.latency:
        return False
    choice.operands, choice.operator = operands, operator
    choice.op = name if sign is None else ""
    return True
