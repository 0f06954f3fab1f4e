"""Registers one behind another that lookup tables can be, bit by bit: synthesis takes words apart for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..nodes import Node, mask

LEAST_SHIFT = 3
"""Registers one behind another that are a shift register."""

Link = tuple[int, int, int, int]
"""Bits that a register has from another one: that one, its first bit, where they stand here, how many."""


@dataclass(slots=True)
class ShiftRegisters:
    """The shift registers of a module.

    Attributes:
        inside: by register, its bits that have no flip-flop.
        rows: by register that is the last of a row, how long rows are and how many bits of each it ends.
    """

    inside: dict[int, int] = field(default_factory=dict)
    rows: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    @staticmethod
    def of(nodes: list[Node]) -> ShiftRegisters:
        """Find the rows of registers without a reset of which nothing else reads any but the last."""
        found = ShiftRegisters()
        links: dict[int, list[Link]] = {}
        going_on: dict[int, int] = {}
        for number, node in enumerate(nodes):
            before = list(_before(nodes, node))
            if before:
                links[number] = before
                for source, low, _, count in before:
                    going_on[source] = going_on.get(source, 0) | mask(low, count)
        depths: dict[int, dict[int, int]] = {}
        for number in links:
            for depth, bits in _depths(number, links, depths).items():
                last = bits & ~going_on.get(number, 0)
                if last and depth + 1 >= LEAST_SHIFT:
                    row = depth + 1, last.bit_count()
                    found.rows.setdefault(number, []).append(row)
                    found._mark(number, last, links)
        return found

    def _mark(self, number: int, bits: int, links: dict[int, list[Link]]) -> None:
        """Say that bits of a register, and those in front of them, have no flip-flops."""
        stack = [(number, bits)]
        while stack:
            at, inside = stack.pop()
            self.inside[at] = self.inside.get(at, 0) | inside
            for source, low, place, count in links.get(at, ()):
                earlier = (inside >> place & mask(0, count)) << low
                if earlier:
                    stack.append((source, earlier))


def _before(nodes: list[Node], node: Node) -> Iterator[Link]:
    """The registers that bits of a register alone follow."""
    if node.kind != "register" or not node.made or "r" in node.detail:
        return
    place = 0
    for source, low, count in node.operands[0]:
        before = nodes[source] if source >= 0 else None
        if (
            before is not None
            and low >= 0
            and before.kind == "register"
            and before.detail == node.detail
            and before.operands[1:] == node.operands[1:]
        ):
            bits = mask(low, count) & before.made & ~before.twice
            bits &= (node.made >> place & mask(0, count)) << low
            while bits:
                first = (bits & -bits).bit_length() - 1
                size = (~(bits >> first) & (bits >> first) + 1).bit_length() - 1
                yield source, first, place + first - low, size
                bits &= ~mask(first, size)
        place += count


def _depths(
    number: int, links: dict[int, list[Link]], known: dict[int, dict[int, int]]
) -> dict[int, int]:
    """The bits of a register by how many registers are in front of them."""
    stack, open_ = [number], set[int]()
    while stack:
        top = stack[-1]
        waiting = [s for s, _, _, _ in links.get(top, ()) if s not in known and s not in open_]
        if top not in known and top not in open_ and waiting:
            open_.add(top)
            stack += waiting
            continue
        stack.pop()
        if top in known:
            continue
        found: dict[int, int] = {}
        for source, low, place, count in links.get(top, ()):
            behind = mask(low, count)
            for depth, bits in known.get(source, {}).items():
                if depth and bits & behind:
                    moved = ((bits & behind) >> low) << place
                    found[depth + 1] = found.get(depth + 1, 0) | moved
                    behind &= ~bits
            if behind:
                found[1] = found.get(1, 0) | (behind >> low) << place
        known[top] = found
    return known[number]


def tables_of_row(length: int, bits: int) -> dict[str, int]:
    """What rows of so many registers are where lookup tables can be shift registers."""
    whole, rest = divmod(length, 32)
    tables = whole + (rest > 1)
    flops = rest in (1, 17)
    return {"lut": tables * bits, "srl": tables * bits, "ff": flops * bits}
