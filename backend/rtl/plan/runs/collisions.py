"""Banks of which no port reads a word, for use, in the cycle in which the other port writes it.

What a block of memory gives in such a cycle differs between devices, and logic around it has to make it the
word from before the write. A bank that needs no such logic can have two ports that both read and write also
where the device does not promise that word (DP16KD of ECP5). Three things tell that a read never meets a
write:

- They stand in bodies that are not under way at once. Regions run one after the other, and a call is one;
  only a body that runs on (:attr:`~...graph.nodes.Body.runs_on`) goes beyond its region.
- They are of one body, in cycles that do not fall together.
- The load takes the data of the store instead of the memory's word (:attr:`~...graph.nodes.Access.bypass`).

Without a proof a bank counts as one in which they meet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ...graph.nodes import Body, Node
from ...graph.prune import bodies_of, regions_of
from ...graph.regions import Call, Function
from ..bind import Binding, Interface, PortUse

Bank = tuple[int, int]
"""The number of an array, and one of its banks."""


def separate_banks(
    function: Function, binding: Binding, callees: Mapping[str, Interface]
) -> frozenset[Bank]:
    """The banks of a scheduled and bound function in which no read meets a write of the other port."""
    banks = {(number, bank) for number, uses in binding.ports.items() for bank, _ in uses}
    for body in bodies_of(function.root):
        banks -= _meeting_in(body)
    for region in regions_of(function.root):
        if isinstance(region, Call):
            banks -= _meeting_inside(region, callees[region.callee])
    return frozenset(banks)


def _meeting_in(body: Body) -> set[Bank]:
    """The banks in which accesses of a body may meet, each other or those of other bodies."""
    users: dict[Bank, list[Node]] = defaultdict(list)
    for node in body.nodes:
        access = node.access
        if access is not None and access.array.storage != "reg":
            for bank in access.banks():
                users[access.array.number, bank].append(node)
    if body.runs_on:
        return set(users)
    return {bank for bank, nodes in users.items() if _meet(body, bank[1], nodes)}


def _meet(body: Body, bank: int, nodes: list[Node]) -> bool:
    stores = [node for node in nodes if node.kind == "store"]
    for load in nodes:
        if load.kind == "store":
            continue
        for store in stores:
            source, target = store.access, load.access
            if source is None or target is None or source.ports[bank] == target.ports[bank]:
                continue
            between = load.time - store.time
            together = between % body.ii == 0 if body.overlaps else between == 0
            if together and store not in target.bypass:
                return True
    return False


def _meeting_inside(call: Call, callee: Interface) -> set[Bank]:
    """The banks that a callee may read and write at once."""
    given: dict[int, list[int]] = defaultdict(list)
    for position, array in enumerate(call.arrays):
        given[array.number].append(position)
    found: set[Bank] = set()
    for number, positions in given.items():
        uses = [use for position in positions for use in callee.arrays[position][1].items()]
        for bank in {bank for (bank, _), _ in uses}:
            alone = len(positions) == 1 and bank in callee.separate.get(positions[0], ())
            if not alone and _crosses([(p, use) for (b, p), use in uses if b == bank]):
                found.add((number, bank))
    return found


def _crosses(uses: list[tuple[int, PortUse]]) -> bool:
    """Whether one port reads and another one writes."""
    reading = {port for port, use in uses if use.reads}
    return any(use.writes and reading - {port} for port, use in uses)
