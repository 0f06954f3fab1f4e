"""What follows from a bit's value, and values made simpler by what is known.

Early exits use it: what a loop's body leaves if another iteration follows needs none of the conditions
that end the loop.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...graph.nodes import Body, Node
from . import glue
from .builder import Builder

Facts = dict[int, int]
"""Known values, by node number."""

UPDATE_NODES = 16
"""Nodes looked at to tell whether a value is an update of another."""

_GATES = ("and", "or", "xor")


def gate_of(node: Node) -> str:
    """``and``, ``or``, ``xor`` or ``mux`` for such an operation, "" for anything else."""
    if node.kind != "op" or node.operator is None:
        return ""
    kind = node.operator.name.split("_")[0]
    if kind in ("mux", "select"):
        return "mux"
    return kind if kind in _GATES else ""


def implies(a: Node | None, b: Node) -> bool:
    """Whether a predicate holds only where another one does, as far as conjunctions tell."""
    while a is not None and a is not b:
        if gate_of(a) != "and":
            return False
        first, second = a.operands
        if second is b or implies(second, b):
            return True
        a = first
    return a is b


def opposite(a: Node, b: Node) -> bool:
    """Whether one of two predicates is the negation of the other."""
    return any(
        gate_of(x) == "xor"
        and x.operands[0] is y
        and x.operands[1].kind == "const"
        and x.operands[1].data == 1
        for x, y in ((a, b), (b, a))
    )


def excludes(a: Node | None, b: Node) -> bool:
    """Whether a predicate holds only where another one does not, as far as conjunctions tell."""
    if a is None:
        return False
    if gate_of(b) == "and":
        return any(excludes(a, operand) for operand in b.operands)
    if gate_of(a) == "and":
        return any(excludes(operand, b) for operand in a.operands)
    return opposite(a, b)


def chosen_under(predicate: Node | None, value: Node) -> Node:
    """A value, or what its selections choose where the predicate holds.

    A choice between a sum and what was added to stays: such chains become trees later.
    """
    while predicate is not None and value.op == "arith.select":
        condition, then, other = value.operands
        if _updates(then, other):
            break
        if implies(predicate, condition):
            value = then
        elif excludes(predicate, condition):
            value = other
        else:
            break
    return value


def _updates(value: Node, old: Node) -> bool:
    """Whether a value is computed from an old one by operations with few others between."""
    stack, left = [value], UPDATE_NODES
    while stack and left:
        node = stack.pop()
        if node is old:
            return True
        left -= 1
        stack += node.operands
    return False


def assume(given: Iterable[tuple[Node, int]]) -> Facts:
    """Bits that have known values where the given ones have theirs."""
    facts: Facts = {}
    asked = list(given)
    # A gate whose one operand is learnt later tells more then.
    while True:
        known = len(facts)
        facts |= _closure(asked, facts)
        if len(facts) == known:
            return facts


def _closure(given: list[tuple[Node, int]], facts: Facts) -> Facts:
    found = dict(facts)
    seen: set[int] = set()
    stack = list(given)
    while stack:
        node, value = stack.pop()
        if node.kind == "const" or node.number in seen:
            continue
        seen.add(node.number)
        found[node.number] = value
        stack += _consequences(node, value, found)
    return found


def _consequences(node: Node, value: int, facts: Facts) -> list[tuple[Node, int]]:
    def known(operand: Node) -> int | None:
        return operand.data if operand.kind == "const" else facts.get(operand.number)

    if node.kind == "wire" and node.data[0] in ("slice", "zext", "sext"):
        operand = node.operands[0]
        return [(operand, value)] if operand.width == node.width == 1 else []
    if node.width != 1:
        return []
    kind = gate_of(node)
    if kind == "mux":
        condition, then, other = node.operands
        if known(condition) is not None:
            return [
                (condition, known(condition) or 0),
                (then if known(condition) else other, value),
            ]
        if known(then) == value ^ 1:
            return [(condition, 0), (other, value)]
        return [(condition, 1), (then, value)] if known(other) == value ^ 1 else []
    if not kind:
        return []
    a, b = node.operands
    if kind == "xor":
        for one, two in ((a, b), (b, a)):
            bit = known(one)
            if bit is not None:
                return [(two, value ^ bit)]
        return []
    all_of = int(kind == "and")
    if value == all_of:
        return [(a, value), (b, value)]
    for one, two in ((a, b), (b, a)):
        if known(one) == all_of:
            return [(one, all_of), (two, value)]
    return []


class Simplifier:
    """Values of a body where facts hold; new nodes go to the builder's open body."""

    def __init__(self, builder: Builder, facts: Facts) -> None:
        self._b = builder
        self._facts = facts
        self._made: dict[int, Node] = {}

    def run(self, roots: list[Node]) -> list[Node]:
        """The values of nodes; each is the node itself where nothing makes it simpler."""
        body = self._b.body
        cone = _cone(roots, body)
        # A copy of an operation that takes cycles is a second unit, and of a load a second port.
        for node in list(body.nodes):
            if node.number in cone:
                self._made[node.number] = self._simple(node)
        return [self._value(root) for root in roots]

    def _value(self, node: Node) -> Node:
        known = self._facts.get(node.number)
        if known is not None:
            return self._b.const(known, node.width)
        return self._made.get(node.number, node)

    def _simple(self, node: Node) -> Node:
        operands = [self._value(operand) for operand in node.operands]
        if all(a is b for a, b in zip(operands, node.operands, strict=True)):
            return node
        if node.kind == "op":
            return self._operation(node, operands)
        if node.kind != "wire":
            return node
        how, low = node.data[:2]
        if how == "concat":
            return self._b.concat(operands)
        if how == "insert":
            return self._b.insert(operands[0], operands[1], low)
        return self._b.wire(how, operands[0], node.width, low)

    def _operation(self, node: Node, operands: list[Node]) -> Node:
        assert node.operator is not None
        if node.latency:
            return node
        kind = gate_of(node)
        if kind == "mux":
            return self._b.select(*operands)
        if kind and node.width == 1:
            return _bit_gate(self._b, kind, *operands)
        return self._b.op(node.operator, operands, float_op=node.float_op)


def _bit_gate(builder: Builder, kind: str, a: Node, b: Node) -> Node:
    if a.kind == "const":
        a, b = b, a
    if b.kind != "const":
        return builder.op(glue.gate(kind), (a, b))
    if kind == "xor":
        return builder.negate(a) if b.data else a
    return a if b.data == int(kind == "and") else b


def _cone(roots: list[Node], body: Body) -> set[int]:
    """Numbers of the nodes of a body that values are computed from."""
    found: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.body is body and node.number not in found:
            found.add(node.number)
            stack += node.operands
    return found
