"""Under which conditions accesses happen, and whether two accesses of one iteration exclude each other.

A condition is read off the logic that computes it: a conjunction of literals, each a node of one bit or its
negation, and alternatives of such conjunctions. What a value is needed for is found backwards from the
stores: a choice needs its operands under its condition and under the opposite.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from functools import lru_cache
from itertools import product

from .nodes import ALWAYS, Access, Body, Cases, Lin, Literal, Node

NEVER: Cases = frozenset()
MOST = 8
"""Alternatives beyond which a condition counts as always true."""
KEPT = 1 << 17
"""Pairs of conditions whose answer is kept: a body asks the same ones for each interval and each port."""
_CHOICES = ("mux_i", "select_i")


@lru_cache(maxsize=KEPT)
def exclude(a: Cases, b: Cases) -> bool:
    """Whether two conditions never hold in one iteration."""
    if a == ALWAYS or b == ALWAYS:
        return False
    return all(_contradict(x, y) for x, y in product(a, b))


def _contradict(a: frozenset[Literal], b: frozenset[Literal]) -> bool:
    for key, holds in a:
        if (key, not holds) in b:
            return True
        if holds and isinstance(key, tuple) and any(_differ(key, k) for k, h in b if h):
            return True
    return False


def _differ(a: tuple[Hashable, ...], b: Hashable) -> bool:
    """Whether two literals say that one value equals two constants."""
    return isinstance(b, tuple) and a[0] == b[0] and a[1] != b[1]


def index_tests(body: Body) -> dict[Hashable, tuple[int, Lin]]:
    """The literals of a body that compare two index values, each with what it asks of their difference."""
    return {_literal(node)[0]: node.test for node in body.nodes if node.test is not None}


def find_conditions(body: Body, read_outside: frozenset[int]) -> None:
    """Set under which conditions the accesses and stream operations of a body happen, and the accesses are
    needed, in place.

    Args:
        read_outside: numbers of the nodes that control reads.
    """
    accesses = [node.access for node in body.nodes if node.access is not None]
    known: dict[int, Cases] = {}
    for access in accesses:
        if access.predicate is not None:
            access.cases = access.needed = _when(access.predicate, known)
    for node in body.nodes:
        if node.stream is not None and node.predicate is not None:
            node.cases = _when(node.predicate, known)
    if not any(access.gate is not None for access in accesses):
        return
    needs: dict[int, Cases] = defaultdict(lambda: NEVER)
    for node in reversed(body.nodes):
        outside = node.crosses or node.number in read_outside
        need = ALWAYS if outside else needs[node.number]
        _pass_on(node, need, needs, known)
        if node.kind == "load" and node.access is not None:
            _settle_load(node.access, need)


def _settle_load(access: Access, need: Cases) -> None:
    access.needed = need
    if access.gate is None:
        return
    gate = _conjunction(access.gate)
    if all(gate <= case for case in need):
        access.cases = frozenset({gate})
    else:
        access.gate = None


def _pass_on(node: Node, need: Cases, needs: dict[int, Cases], known: dict[int, Cases]) -> None:
    """Note what the operands of a node are needed for."""
    operator = node.operator
    if node.kind == "store" and node.access is not None:
        predicate = node.access.predicate
        for operand in node.operands:
            needs[operand.number] = _any(
                needs[operand.number], ALWAYS if operand is predicate else node.access.cases
            )
        return
    if operator is not None and operator.name.startswith(_CHOICES):
        condition, then, other = node.operands
        needs[condition.number] = _any(needs[condition.number], need)
        holds = _when(condition, known)
        needs[then.number] = _any(needs[then.number], _all(need, holds))
        needs[other.number] = _any(needs[other.number], _all(need, _opposite(condition, holds)))
        return
    if operator is not None and operator.name == "and_i1":
        # Where the first is false, the second tells nothing.
        first, second = node.operands
        needs[first.number] = _any(needs[first.number], need)
        needs[second.number] = _any(needs[second.number], _all(need, _when(first, known)))
        return
    if node.kind in ("get", "put", "check", "exit"):
        need = ALWAYS
    for operand in node.operands:
        needs[operand.number] = _any(needs[operand.number], need)


def _when(node: Node, known: dict[int, Cases]) -> Cases:
    """A node of one bit as alternatives of literals."""
    found = known.get(node.number)
    if found is None:
        found = known[node.number] = _read(node, known)
    return found


def _read(node: Node, known: dict[int, Cases]) -> Cases:
    if node.kind == "const":
        return ALWAYS if node.data else NEVER
    name = node.operator.name if node.operator is not None else ""
    if name == "and_i1":
        return _all(_when(node.operands[0], known), _when(node.operands[1], known))
    if name == "or_i1":
        return _any(_when(node.operands[0], known), _when(node.operands[1], known))
    return frozenset({frozenset({_literal(node)})})


def _conjunction(node: Node) -> frozenset[Literal]:
    """A node of one bit as exactly one conjunction."""
    if node.operator is not None and node.operator.name == "and_i1":
        first, second = node.operands
        return _conjunction(first) | _conjunction(second)
    return frozenset({_literal(node)})


def _literal(node: Node) -> Literal:
    holds = True
    while node.operator is not None and node.operator.name == "xor_i1":
        value, one = node.operands
        if one.kind != "const" or one.data != 1:
            break
        node, holds = value, not holds
    if node.operator is not None and node.operator.name.startswith("cmp_eq_"):
        value, limit = node.operands
        if limit.kind == "const":
            return (value.number, limit.data), holds
    return node.number, holds


def _opposite(condition: Node, holds: Cases) -> Cases:
    """When a condition does not hold; always where that is no single literal."""
    if holds != NEVER and holds != ALWAYS and condition.operator is not None:
        key, positive = _literal(condition)
        if holds == frozenset({frozenset({(key, positive)})}):
            return frozenset({frozenset({(key, not positive)})})
    return ALWAYS


def _any(a: Cases, b: Cases) -> Cases:
    """Either of two conditions, without alternatives that another one covers."""
    joined = a | b
    if len(joined) < 2:
        return joined
    kept = frozenset(x for x in joined if not any(y < x for y in joined))
    return kept if len(kept) <= MOST else ALWAYS


def _all(a: Cases, b: Cases) -> Cases:
    """Both of two conditions, or the first alone where both have too many alternatives."""
    if a == ALWAYS or b == ALWAYS:
        return b if a == ALWAYS else a
    joined = (x | y for x, y in product(a, b))
    kept = frozenset(x for x in joined if not _contradict(x, x))
    return kept if len(kept) <= MOST else a
