"""Comparisons as Yosys makes them: the carry of a difference (``alumacc``), or stages of tables.

Where a design also takes the difference of the two numbers that it compares, both are one carry chain.
Families whose chains take in logic compare in stages (``cmp2lcu``), from the highest bit. A stage has as many
bits as a table has inputs; one that is known in either number counts once, another one twice. The pass takes
a bit for known where any bit from there down is, so that stages above known bits read more than a table does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from math import ceil

from allo.backend.devices import Cells

from ..nodes import (
    Node,
    Run,
    Value,
    aligned,
    bits_of,
    cut,
    is_constant,
    significant,
    trailing_zeros,
    width_of,
)

Pair = tuple[Value, Value]
_STAGE = 6
_GATE = 0.35
"""Lookup tables of a bit that another one lets through to a comparison in stages, of 8 to 32 bits."""


class Comparisons:
    """The comparisons of a module that are no equalities.

    Args:
        joined: the sums of several terms, and those that are part of them: no chain of two numbers.
    """

    def __init__(self, nodes: Sequence[Node], joined: Set[int], family: Cells) -> None:
        self._family = family
        self._differences: dict[Pair, int] = {}
        for number, node in enumerate(nodes):
            subtracts = node.kind == "add" and node.detail.startswith("sub")
            if subtracts and node.made and number not in joined:
                self._differences[_cut_off(*node.operands)] = node.made.bit_length()

    def tables(self, node: Node) -> int:
        """The lookup tables of a comparison, without those of a difference that has its carry."""
        a, b = node.operands
        known = is_constant(a) or is_constant(b)
        sizes = [significant(value) for value in node.operands]
        signed = any(kind for _, kind in sizes)
        widths = [size + (signed and not kind) for size, kind in sizes]
        width = min(width_of(a), (max if self._family.carry_inverts else min)(widths))
        if node.detail[0] == "s":
            return self._family.less(width, known)
        if self._family.inputs == 4:
            return self._carried(node, width, known)
        most = max(size for size, _ in sizes)
        mixed = 0 if known else _staged(cut(a, 0, most), cut(b, 0, most))
        return mixed or self._family.less(width, known)

    def _carried(self, node: Node, width: int, known: bool) -> int:
        a, b = node.operands
        pair = (a, b) if node.detail[1:] in ("lt", "ge") else (b, a)
        width -= min(width - 1, trailing_zeros(pair[1]))
        own = self._family.less(width, known)
        if known:
            # the Verilog compares with the number beside it wherever the opposite is asked
            return own
        shared = self._differences.get(_cut_off(*pair), 0)
        return max(0, own - self._family.less(shared, False)) if shared else own


class Gates:
    """Words that one bit lets through to comparisons, which are in the tables of these."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._taken: dict[int, list[Run]] = {}

    def behind(
        self, node: Node, runs: list[Run], leaves: Callable[[Node, int], list[Run]]
    ) -> list[Run]:
        """The runs that a comparison reads, with ``leaves`` of such words in place of them."""
        found: list[Run] = []
        for run in runs:
            word = self._nodes[run[0]]
            bits = [bit for _, bit in word.leaves] if word.kind == "logic" and run[1] >= 0 else []
            if len(bits) == 2 and sum(bit < 0 for bit in bits) == 1:
                self._taken.setdefault(id(node), []).append(run)
                found += leaves(word, bits_of(run))
            else:
                found.append(run)
        return found

    def tables(self, node: Node) -> int:
        """The lookup tables of those words, beside the comparison's, that nothing else has made."""
        taken = self._taken.get(id(node), ())
        own = sum((bits_of(run) & ~self._nodes[run[0]].made).bit_count() for run in taken)
        return ceil(_GATE * own)


def _cut_off(a: Value, b: Value) -> Pair:
    """Two numbers without low bits that a difference leaves as they are, and without zeros above."""
    low = trailing_zeros(b) if not is_constant(b) else 0
    pair = [cut(value, low, width_of(value) - low) for value in (a, b)]
    sizes = [significant(value) for value in pair]
    first, second = (
        value if signed else cut(value, 0, size)
        for value, (size, signed) in zip(pair, sizes, strict=True)
    )
    return first, second


def _staged(a: Value, b: Value) -> int:
    """Lookup tables of a comparison in stages of two variables with bits that are known; 0 without these."""
    each: list[tuple[bool, bool]] = []
    for _, count, (left, right) in aligned([a, b]):
        each += [(left[0] < 0, right[0] < 0)] * count
    if not any(left or right for left, right in each):
        return 0
    inputs = [0]
    room = _STAGE
    for place in range(len(each) - 1, -1, -1):
        below = each[: place + 1]
        known = any(left for left, _ in below), any(right for _, right in below)
        cost = 2 - sum(known) if sum(known) < 2 else 0
        if room < cost:
            inputs.append(0)
            room = _STAGE
        room -= cost
        inputs[-1] += 2 - sum(each[place])
    return sum(2 if read <= _STAGE else ceil(0.65 * read) for read in inputs if read)
