"""Sums of sums as one sum of many terms, which is how Yosys makes them (``alumacc``, ``maccmap``).

A sum that only another sum reads is part of it. All terms are then added by rows of full adders, of which
each makes two words of three, and one carry chain adds the last two.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..nodes import ZERO, Node, Value, aligned, cut, extended, join, significant, width_of


class Sums:
    """The sums of a graph that other sums take in.

    Attributes:
        terms: by sum of three terms or more, its terms.
        inner: the sums that are part of another one.
    """

    def __init__(self, nodes: list[Node], roots: Iterable[Value]) -> None:
        self._nodes = nodes
        self.terms: dict[int, list[Value]] = {}
        self.inner: set[int] = set()
        if not any(node.kind == "add" and node.made for node in nodes):
            return
        self._readers = _readers(nodes, roots)
        for number, node in enumerate(nodes):
            if node.kind == "add" and node.made:
                self._join(number, node)

    def _join(self, number: int, node: Node) -> None:
        found: list[Value] = []
        for value in node.operands:
            taken = self._taken(number, value)
            if taken is None:
                found.append(value)
                continue
            self.inner.add(taken)
            found += self._shifted(taken, value, width_of(value))
        if len(found) > len(node.operands):
            self.terms[number] = found

    def _taken(self, number: int, value: Value) -> int | None:
        """The sum that an operand is, with bits below it or not, if it can be part of the sum.

        Where an operand has zeros as its lowest bits, those of the other one are the result's. So whoever
        reads the outer sum may read low bits of the inner one.
        """
        inside = [run[0] for run in value if run[0] in self._readers]
        if not inside or any(other not in self.inner for other in inside if other != inside[-1]):
            return None
        taken, node = inside[-1], self._nodes[number]
        inner = self._nodes[taken]
        first = next(run for run in value if run[0] == taken)
        if first[1] < 0 or inner.wraps and inner.written != node.written:
            return None
        if self._readers[taken] - self._readers[number] - {number}:
            return None
        plain = first[1] + first[2] == inner.width or value[-1] == first
        return taken if plain else None

    def _shifted(self, taken: int, value: Value, width: int) -> list[Value]:
        """The terms of an inner sum as they stand in the operand that it is."""
        place = next(i for i, run in enumerate(value) if run[0] == taken)
        below, start = value[:place], value[place][1]
        offset = width_of(below)
        inner = self.terms.pop(taken, None) or list(self._nodes[taken].operands)
        found = []
        for at, term in enumerate(inner):
            above = cut(term, start, width_of(term) - start)
            low = below if at == 0 else (((ZERO, 0, offset),) if offset else ())
            wide = join([low, above]) if low else above
            if wide:
                signed = significant(term)[1]
                found.append(cut(extended(wide, width, signed=signed), 0, width))
        return found

    def adders(self, number: int, width: int) -> int:
        """Full adders in front of the carry chain of a sum; those of equal bits are one."""
        total = 0
        for _, count, runs in aligned([cut(term, 0, width) for term in self.terms[number]]):
            added = [run for run in runs if run[0] != ZERO]
            repeated = all(run[1] < 0 or run[0] < 0 for run in added)
            total += (1 if repeated else count) * max(0, len(added) - 2)
        return total


def _readers(nodes: list[Node], roots: Iterable[Value]) -> dict[int, set[int]]:
    """Who reads each sum; what is read from outside has a negative number of its own."""
    found: dict[int, set[int]] = {
        number: set() for number, node in enumerate(nodes) if node.kind == "add" and node.made
    }
    for number, node in enumerate(nodes):
        if not node.made:
            continue
        if node.kind == "logic":
            read = [leaf for leaf, _ in node.leaves]
        else:
            read = [run[0] for value in node.operands for run in value]
        for one in read:
            if one in found:
                found[one].add(number)
    for number, value in enumerate(roots, 1):
        for run in value:
            if run[0] in found:
                found[run[0]].add(-number)
    return found
