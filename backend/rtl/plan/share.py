"""Accesses that exclude each other share a port: of one iteration, so that at most one of them happens.

Conditions of different iterations say nothing of each other. Therefore only accesses that start in the same
cycle of their iteration can share; those of one slot of the interval in different cycles cannot. A load
shares where it is *gated*: it then waits for its condition, while any other load reads ahead of it.

Accesses of unknown banks that are never of the same bank where they meet (``turns``) share the ports
of all these banks, whatever their conditions: loads with loads and stores with stores, and of both kinds
where no port is left.

So it is with the operations of one stream that exclude each other, where they are *joined* to a party: its
members start in the same cycle, the last of those in which one of them could.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping

from ..graph.conditions import exclude
from ..graph.nodes import ALWAYS, ASKS, Body, Cases, Edge, Node

PORTS_PER_BANK = 2
"""Accesses of a RAM in one cycle."""

type User = tuple[Node, int]
"""A node and the cycle of its iteration in which it starts."""


class _Group:
    """Accesses that share a port.

    Attributes:
        start: the cycle in which all of them start; None where these differ.
        cases: their conditions; None where one of them has none by which it shares.
    """

    __slots__ = ("cases", "kind", "members", "party", "start")

    def __init__(self, node: Node, time: int) -> None:
        self.members: list[User] = [(node, time)]
        self.kind, self.party = node.kind, node.party
        self.start: int | None = time
        self.cases = None if (cases := _shared_cases(node)) is None else [cases]

    def add(self, node: Node, time: int) -> None:
        """Take in one more."""
        self.members.append((node, time))
        if time != self.start:
            self.start = None
        cases = _shared_cases(node)
        if cases is None or self.cases is None:
            self.cases = None
        elif cases not in self.cases:
            self.cases.append(cases)

    def excludes(self, cases: Cases, time: int) -> bool:
        """Whether all start in a cycle, and none of them happens where some condition holds."""
        if self.start != time or self.cases is None:
            return False
        return all(exclude(cases, other) for other in self.cases)


class Parties:
    """The accesses of one slot in groups that may share a port.

    An access joins the first group that it may share with, in the order of the nodes' numbers. So the same
    accesses give the same groups.

    Args:
        ii: cycles from one iteration to the next, 0 where they do not overlap.
    """

    __slots__ = ("_groups", "_ii", "_last", "_starts")

    def __init__(self, users: Iterable[User] = (), ii: int = 0) -> None:
        self._groups: list[_Group] = []
        self._starts: set[int] = set()
        self._last = -1
        self._ii = ii
        for node, time in sorted(users, key=_by_number):
            self._append(node, time)

    def __len__(self) -> int:
        return len(self._groups)

    def groups(self) -> list[list[Node]]:
        """The groups, in the order of their first nodes."""
        return [[node for node, _ in group.members] for group in self._groups]

    def add(self, node: Node, time: int) -> None:
        """Take in an access that starts in a cycle of its iteration."""
        if node.number > self._last:
            self._append(node, time)
        else:
            self._groups = self._sorted_with(node, time)._groups
            self._starts.add(time)

    def has_room(self, node: Node, time: int, most: int) -> bool:
        """Whether there are ``most`` groups or fewer with one access more."""
        if node.number < self._last:
            return len(self._sorted_with(node, time)) <= most
        if len(self._groups) < most:
            return True
        if node.party < 0 and time not in self._starts and not rotates(node):
            return False
        return len(self._groups) == most and self._group_for(node, time) is not None

    def _sorted_with(self, node: Node, time: int) -> Parties:
        users = [user for group in self._groups for user in group.members]
        return Parties([*users, (node, time)], self._ii)

    def _append(self, node: Node, time: int) -> None:
        self._last = node.number
        self._starts.add(time)
        group = self._group_for(node, time) if self._groups else None
        if group is None:
            self._groups.append(_Group(node, time))
        else:
            group.add(node, time)

    def _group_for(self, node: Node, time: int) -> _Group | None:
        party, rotating, cases = node.party, rotates(node), _shared_cases(node)
        if party < 0 and cases is None and not rotating:
            return None
        apart = node.access is not None and node.access.array.one_writes
        mixed: _Group | None = None
        for group in self._groups:
            if apart and group.kind != node.kind and _kept_apart(node, group.members[0][0]):
                continue
            if party >= 0:
                if party == group.party:
                    return group
            elif cases is not None and group.excludes(cases, time):
                return group
            elif rotating and all(self._beside(node, time, *member) for member in group.members):
                if all(member.kind == node.kind for member, _ in group.members):
                    return group
                mixed = group if mixed is None else mixed
        return mixed if len(self._groups) >= PORTS_PER_BANK else None

    def _beside(self, node: Node, time: int, other: Node, start: int) -> bool:
        """Whether an access and another of a slot never want one port."""
        if start == time and _may_share(node, other):
            return True
        if node.access is None or node.access.rotation is None or not rotates(other):
            return False
        apart: bool = node.access.rotation.apart(
            node, other, (time - start) // self._ii if self._ii else 0
        )
        return apart


def _by_number(user: User) -> int:
    return user[0].number


def _shared_cases(node: Node) -> Cases | None:
    """The conditions by which an access may share a port; None where it may not."""
    return node.access.cases if node.access is not None and is_conditional(node) else None


def _kept_apart(a: Node, b: Node) -> bool:
    """Whether a load and a store of an array have a port each, so that only one port writes."""
    return a.kind != b.kind and a.access is not None and a.access.array.one_writes


def parties(users: Iterable[User], ii: int = 0) -> list[list[Node]]:
    """The accesses of one slot in groups that may share a port, of iterations at an interval of ``ii``."""
    return Parties(users, ii).groups()


def rotates(node: Node) -> bool:
    """Whether it may be known of an access that its bank differs from another's, though neither is known."""
    return node.access is not None and node.access.rotation is not None


def _may_share(a: Node, b: Node) -> bool:
    if not (is_conditional(a) and is_conditional(b)):
        return False
    return a.access is not None and b.access is not None and exclude(a.access.cases, b.access.cases)


def is_conditional(node: Node) -> bool:
    """Whether a node may not happen, so that another one may share its port."""
    access = node.access
    if access is None:
        return node.party >= 0
    return access.cases != ALWAYS and (node.kind == "store" or access.gated)


def shared_uses(nodes: Iterable[Node], uses: Mapping[int, list[Hashable]]) -> frozenset[Hashable]:
    """Ports with several accesses, conditional or of unknown banks, of which some may share a slot."""
    counts: dict[Hashable, int] = defaultdict(int)
    for node in nodes:
        if is_conditional(node) or rotates(node):
            for use in uses.get(node.number, ()):
                counts[use] += 1
    return frozenset(use for use, count in counts.items() if count > 1)


def without_twins(uses: Mapping[int, list[Hashable]]) -> dict[int, list[Hashable]]:
    """The uses of nodes, of those that the same nodes have only the first.

    The ports of all banks that an access of unknown bank takes are full or not in the same cycles.
    """
    users: dict[Hashable, list[int]] = defaultdict(list)
    for number, found in uses.items():
        for use in found:
            users[use].append(number)
    first: dict[tuple[Hashable, ...], Hashable] = {}
    for use, numbers in users.items():
        kind = use[0] if isinstance(use, tuple) else use  # kinds differ in how many uses they take
        first.setdefault((kind, *numbers), use)
    kept = set(first.values())
    return {number: [use for use in found if use in kept] for number, found in uses.items()}


def gate_loads(body: Body, gated: bool) -> bool:
    """Let loads that exclude another access of their array wait for their conditions, or none of them.

    Returns:
        Whether there are any.
    """
    by_array: dict[int, set[Cases]] = defaultdict(set)
    loads = [n for n in body.nodes if n.kind == "load" and n.access is not None]
    for node in body.nodes:
        access = node.access
        if access is not None and access.cases != ALWAYS and node.kind in ("load", "store"):
            by_array[access.array.number].add(access.cases)
    found = False
    for node in loads:
        access = node.access
        assert access is not None
        if access.gate is None:
            continue
        others = by_array[access.array.number]
        access.gated = gated and any(exclude(access.cases, other) for other in others)
        parts = (access.word_node, access.bank_node, access.gate if access.gated else None)
        node.operands = tuple(n for n in parts if n is not None)
        found = found or access.gated
    return found


def join_streams(body: Body, joined: bool) -> bool:
    """Let operations of one stream that exclude each other share its port, or none of them.

    Returns:
        Whether there are any.
    """
    by_stream: dict[int, list[Node]] = defaultdict(list)
    for node in body.nodes:
        node.party = -1
        if node.stream is not None and node.data not in ASKS:
            by_stream[node.stream.number].append(node)
    found = False
    for nodes in by_stream.values() if joined else ():
        for members in _exclusive(nodes):
            found = True
            for node in members:
                node.party = members[0].number
    return found


def _exclusive(nodes: list[Node]) -> list[list[Node]]:
    """Groups of two and more that all exclude each other."""
    groups: list[list[Node]] = []
    for node in nodes:
        fitting = (g for g in groups if all(exclude(node.cases, other.cases) for other in g))
        group = next(fitting, None)
        if group is None:
            groups.append([node])
        else:
            group.append(node)
    return [group for group in groups if len(group) > 1]


def joining_edges(body: Body) -> list[Edge]:
    """What holds the members of a party to one cycle.

    They follow each other in the program, each in the cycle of the one before or later; these edges go back.
    """
    last: dict[int, Node] = {}
    edges: list[Edge] = []
    for node in body.nodes:
        if node.party < 0:
            continue
        if node.party in last:
            edges.append(Edge(node, last[node.party], 0, 0, back=True))
        last[node.party] = node
    return edges
