"""Which operations of a body can be computed in one place, and an order of its nodes with them there.

Stores, streams, checks, and loads of arrays that the body stores to are *fixed*: they keep their order. All
other nodes can move between those that they need and those that need them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from allo.dialects.diagnostics import InternalError

from ..nodes import Body, Node

NEVER = 1 << 60


class Moves:
    """Where the nodes of a body can go.

    Attributes:
        early: by number, the last fixed node that a node needs, by its place among these; 0 for none.
        late: the first fixed node that needs it.
    """

    def __init__(self, body: Body) -> None:
        self._body = body
        self._fixed = _fixed(body)
        self.early: dict[int, int] = {}
        self.late: dict[int, int] = {}
        for node in body.nodes:
            own = self._fixed.get(node.number, 0)
            before = (self.early.get(o.number, 0) for o in needs(node))
            self.early[node.number] = own or max(before, default=0)
        for node in reversed(body.nodes):
            late = self._fixed.get(node.number) or self.late.get(node.number, NEVER)
            for operand in needs(node):
                known = self.late.get(operand.number, NEVER)
                self.late[operand.number] = min(known, late)

    def together(self, nodes: Iterable[Node]) -> bool:
        """Whether there is a place behind all that these nodes need and before all that needs them."""
        numbers = [node.number for node in nodes]
        return max(self.early[n] for n in numbers) < min(self.late.get(n, NEVER) for n in numbers)

    def apart(self, nodes: Sequence[Node]) -> list[Node]:
        """Those of the nodes that need no other one of them, unless by way of a fixed node."""
        chosen = {node.number for node in nodes}
        behind: set[int] = set()
        for node in self._body.nodes:
            if node.number in self._fixed:
                continue
            if any(o.number in chosen or o.number in behind for o in needs(node)):
                behind.add(node.number)
        return [node for node in nodes if node.number not in behind]

    def with_groups(self, groups: Sequence[tuple[list[Node], list[Node]]]) -> list[Node]:
        """The nodes of the body, in an order in which each group stands in one place.

        Args:
            groups: nodes that were made for some nodes of the body, and these: they need what those made
                need. The fixed nodes of a group's inputs all stand before the first one that needs it.
        """
        leader = {node.number: k for k, (_, users) in enumerate(groups) for node in users}
        placed: set[int] = set()
        opened: set[int] = set()
        order: list[Node] = []
        for node in self._body.nodes:
            stack = [(node, False)]
            while stack:
                at, ready = stack.pop()
                group = leader.get(at.number)
                if at.number in placed:
                    continue
                members = [at] if group is None else [*groups[group][0], *groups[group][1]]
                if not ready and at.number in opened:
                    continue
                opened.add(at.number)
                if ready:
                    order += members
                    placed.update(member.number for member in members)
                    continue
                stack.append((at, True))
                inside = {member.number for member in members}
                stack += [
                    (o, False)
                    for member in members
                    for o in needs(member)
                    if o.body is self._body and o.number not in placed and o.number not in inside
                ]
        fixed = [node.number for node in order if node.number in self._fixed]
        if fixed != sorted(self._fixed, key=self._fixed.__getitem__):
            raise InternalError(
                "Products were packed in a way that changes the order of memory accesses."
            )
        return order


def needs(node: Node) -> Iterator[Node]:
    """The nodes that must stand before another one."""
    yield from node.operands
    access = node.access
    if access is not None:
        yield from (n for n in (access.data, access.predicate, access.gate) if n is not None)
    if node.predicate is not None:
        yield node.predicate


def _fixed(body: Body) -> dict[int, int]:
    """The fixed nodes, numbered from 1 in their order."""
    stored = {n.access.array.number for n in body.nodes if n.kind == "store" and n.access}
    found = [node for node in body.nodes if not _moves(node, stored)]
    return {node.number: place for place, node in enumerate(found, start=1)}


def _moves(node: Node, stored: set[int]) -> bool:
    if node.kind in ("op", "wire", "lin"):
        return True
    return (
        node.kind == "load" and node.access is not None and node.access.array.number not in stored
    )
