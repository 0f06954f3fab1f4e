"""Sums of sums as one sum of many terms, which is how Yosys makes them (``alumacc``, ``maccmap``).

A sum that only another sum reads is part of it. All terms are then added by rows of full adders, of which
each makes two words of three, and one carry chain adds the last two.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..nodes import (
    ZERO,
    Node,
    Run,
    Value,
    aligned,
    bits_of,
    cut,
    extended,
    join,
    mask,
    significant,
    width_of,
)


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
        self._roots = list(roots)
        self._readers = _readers(nodes, self._roots)
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
        offset = width_of(value[: value.index(first)])
        if not any(k + offset - first[1] in inner.below for k in node.below):
            return None  # the text moves the sum, or joins other bits to it
        if node.wraps and value[-1] == (taken, -inner.width, value[-1][2]) and value[-1] != first:
            return None  # Yosys takes no sum as one of signed numbers that is no narrower so
        if any(self._reads(other, taken, first[1]) for other in self._readers[taken] - {number}):
            return None
        plain = first[1] + first[2] == inner.width or value[-1] == first
        return taken if plain else None

    def _reads(self, reader: int, number: int, low: int) -> bool:
        """Whether a node, or the outside, reads bits of a sum from ``low`` on."""
        if not low:
            return True
        if reader < 0:
            runs: Iterable[Run] = self._roots[-reader - 1]
        else:
            runs = (run for value in self._nodes[reader].operands for run in value)
        return any(run[0] == number and bits_of(run) >> low for run in runs)

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
        """Adders of two or three bits in front of the carry chain of a sum; those of equal bits are one.

        As ``maccmap`` has it, the first word has one bit of each column, the next one a second bit, and so
        on; rows of full adders then make two words of three. Where a row has two bits alone, its sum and its
        carry are functions too.
        """
        words: list[int] = []
        alike = 0
        """Columns whose first adder has a bit twice: the other one is its sum, and that one its carry.

        Where signs are extended Yosys keeps the adders.
        """
        for at, count, runs in aligned([cut(term, 0, width) for term in self.terms[number]]):
            added = [run for run in runs if run[0] != ZERO]
            first = [run for run in added[:3] if run[0] >= 0 and run[1] >= 0]
            if len(first) > len(set(first)):
                alike |= mask(at, count)
            repeated = all(run[1] < 0 or run[0] < 0 for run in added)
            for height in range(len(added)):
                if height == len(words):
                    words.append(0)
                words[height] |= mask(at, 1 if repeated else count)
        total = 0
        while len(words) > 2:
            rows = [words[at : at + 3] for at in range(0, len(words), 3)]
            words = []
            for row in rows:
                if len(row) < 3:
                    words += row
                    continue
                a, b, c = row
                carried = a & b | a & c | b & c
                total += (carried & ~alike).bit_count()
                words += [a | b | c, carried << 1 & mask(0, width)]
                alike = 0
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
