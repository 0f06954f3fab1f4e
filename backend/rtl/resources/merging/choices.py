"""Choices between two words in front of comparisons for equality, which take them into their tables.

Beside a constant a table asks several choices at once whether they are as wanted. Of a choice between a word
and the same word moved by a place, a bit is read once for two choices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ..nodes import Node, Run, Value, aligned, bits_of, is_constant

Reads = Callable[[Node, int], list[Run]]
"""The runs that a node reads for some of its bits."""


class Choices:
    """Those of one module, once its logic is packed.

    Args:
        roots: what is read from outside.
        reads: what any node reads.
        leaves: what the tables of logic read.
    """

    def __init__(
        self, nodes: Sequence[Node], roots: Iterable[Value], reads: Reads, leaves: Reads
    ) -> None:
        self._nodes, self._leaves = nodes, leaves
        self._more: dict[int, int] = {}
        self._equals: Counter[int] = Counter()
        elsewhere: Counter[int] = Counter()
        found = [run for value in roots for run in value]
        for node in nodes:
            if not node.wanted:
                continue
            if node.kind == "equal":
                self._equals.update({run[0]: run[2] for value in node.operands for run in value})
                if any(is_constant(value) for value in node.operands):
                    continue
            read = leaves if node.kind == "logic" else reads
            found += read(node, node.wanted)
        for run in found:
            if run[0] >= 0:
                elsewhere[run[0]] |= bits_of(run)
        self._elsewhere = elsewhere

    def behind(self, node: Node, runs: list[Run]) -> list[Run]:
        """The runs that a comparison reads, choices in front of it taken into its tables."""
        known = next((value for value in node.operands if is_constant(value)), ())
        found: list[Run] = []
        for run in runs:
            if self._fits(run, known=bool(known)):
                inner = self._leaves(self._nodes[run[0]], bits_of(run))
                more = run[2] if not known else 0
                self._more[id(node)] = self._more.get(id(node), 0) + more
                found += inner
            else:
                found.append(run)
        if known:
            self._count(node)
        return found

    def more(self, node: Node) -> int:
        """Choices beside another variable, or inputs more than bits beside a constant."""
        return self._more.get(id(node), 0)

    def _count(self, node: Node) -> None:
        """Count what the tables read beside a constant: for each run of like bits, each bit once."""
        for _, count, runs in aligned(list(node.operands)):
            run = next((run for run in runs if run[0] >= 0), None)
            if run is None or not self._fits(run, known=True):
                continue
            read: Counter[int] = Counter()
            for number, low, size in self._leaves(self._nodes[run[0]], bits_of(run)):
                if low >= 0:
                    read[number] |= bits_of((number, low, size))
            several = sum(bits.bit_count() for bits in read.values())
            self._more[id(node)] = self._more.get(id(node), 0) + max(1, several - count)

    def _fits(self, run: Run, *, known: bool) -> bool:
        """Whether a choice is in the tables: only comparisons read it, of a variable one alone."""
        number, low, _ = run
        node = self._nodes[number]
        if low < 0 or node.kind != "logic" or node.extra or len(node.leaves) != 3:
            return False
        read = self._equals[number]
        if known and not self._elsewhere[number] & bits_of(run):
            return True
        return node.uses <= (read if known else min(read, node.wanted.bit_count()))
