"""Values as runs of bits, and the nodes that drive them.

A value is a tuple of runs, lowest bits first. A run names a node, the first of its bits, and how many follow;
or one bit that is repeated, as the complement of its number. Runs of constants have no node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

ZERO, ONE = -1, -2
"""The nodes of constant bits."""

Run = tuple[int, int, int]
Value = tuple[Run, ...]


@dataclass(slots=True)
class Node:
    """What drives a run of bits.

    Attributes:
        kind: ``"logic"`` (every bit is the same function of bits of its operands), ``"add"``, ``"less"``,
            ``"equal"``, ``"shift"``, ``"multiply"``, ``"register"``, ``"read"`` or ``"input"``.
        width: its bits.
        operands: values; of logic, one run each, as wide as the node or one bit.
        associative: logic that may be cut into a tree anywhere.
        section: the part of the module it belongs to; ``place`` names a place in Python.
        wanted: bits that something reads.
        made: bits that have a lookup table, a flip-flop or other hardware of their own.
        uses: bits that are read, counted for each reader; ``twice``: bits that more than one of them reads.
        leaves: of logic, what its lookup table reads: (node, bit) as runs name them.
        extra: of logic, lookup tables beside the last one, for each bit.
        written: of a sum, the bits that the text gives it; ``wraps``: whether it may need more;
            ``below``: the bits that it has in the text below these, where nothing is added; ``in_block``:
            whether the adder of a multiplier block makes it.
    """

    kind: str
    width: int
    operands: tuple[Value, ...] = ()
    detail: str = ""
    associative: bool = False
    section: str = ""
    wanted: int = 0
    made: int = 0
    uses: int = 0
    twice: int = 0
    leaves: dict[tuple[int, int], None] = field(default_factory=dict)
    extra: int = 0
    place: str = ""
    written: int = 0
    wraps: bool = False
    below: frozenset[int] = frozenset()
    in_block: bool = False

    @property
    def fan_out(self) -> float:
        """Readers of a bit, in the middle."""
        return max(1.0, self.uses / max(1, self.wanted.bit_count()))


def mask(low: int, count: int) -> int:
    """``count`` ones from bit ``low``."""
    return ((1 << count) - 1) << low


def bits_of(run: Run) -> int:
    """The bits of its node that a run reads."""
    _, low, count = run
    return mask(low, count) if low >= 0 else 1 << ~low


def pieces(run: Run, bits: int) -> list[Run]:
    """The parts of a run, as wide as a node, that some bits of the node read."""
    node, low, _ = run
    found = []
    at = 0
    while bits >> at:
        rest = bits >> at
        at += (rest & -rest).bit_length() - 1
        rest = bits >> at
        count = (~rest & (rest + 1)).bit_length() - 1
        found.append((node, low + at, count))
        at += count
    return found


def width_of(value: Value) -> int:
    """Bits of a value."""
    return sum(count for _, _, count in value)


def constant(bits: int, width: int) -> Value:
    """A constant."""
    runs: list[Run] = []
    at = 0
    while at < width:
        bit = bits >> at & 1
        end = at
        while end < width and bits >> end & 1 == bit:
            end += 1
        runs.append((ONE if bit else ZERO, 0, end - at))
        at = end
    return tuple(runs)


def is_constant(value: Value) -> bool:
    """Whether every bit is known."""
    return all(node < 0 for node, _, _ in value)


def bits_known(value: Value) -> int:
    """The number that a constant is."""
    found, at = 0, 0
    for node, _, count in value:
        found |= mask(at, count) if node == ONE else 0
        at += count
    return found


def cut(value: Value, low: int, width: int) -> Value:
    """Bits ``low`` … ``low + width - 1`` of a value."""
    runs: list[Run] = []
    at, end = 0, low + width
    for node, first, count in value:
        start, stop = max(at, low), min(at + count, end)
        if start < stop:
            runs.append(
                (node, first + start - at if first >= 0 and node >= 0 else first, stop - start)
            )
        at += count
        if at >= end:
            break
    return tuple(runs)


def read_of(value: Value, bits: int | None) -> list[Value]:
    """The parts of a value that are some of its bits; all of it for None."""
    if bits is None or bits == mask(0, width_of(value)):
        return [value]
    whole = (0, 0, width_of(value))
    return [cut(value, low, count) for _, low, count in pieces(whole, bits)]


def join(values: list[Value]) -> Value:
    """Values one above the other, the lowest first, with runs that follow one another made one."""
    runs: list[Run] = []
    for value in values:
        for run in value:
            if runs and _follows(runs[-1], run):
                node, first, count = runs[-1]
                runs[-1] = (node, first, count + run[2])
            else:
                runs.append(run)
    return tuple(runs)


def _follows(below: Run, above: Run) -> bool:
    if below[0] != above[0]:
        return False
    if below[0] < 0:
        return True
    if below[1] < 0 or above[1] < 0:
        return below[1] == above[1] and below[1] < 0
    return below[1] + below[2] == above[1]


def repeat(value: Value, count: int) -> Value:
    """One bit, ``count`` times."""
    (node, first, _) = value[0]
    if node < 0:
        return ((node, 0, count),)
    return ((node, first if first < 0 else ~first, count),) if count > 1 else value


def repeats_one(runs: list[Run]) -> bool:
    """Whether every run is one bit, several times."""
    return all(node < 0 or low < 0 for node, low, _ in runs) and any(run[0] >= 0 for run in runs)


def one_of(run: Run) -> Run:
    """The bit that a run repeats."""
    node, low, _ = run
    return (node, 0, 1) if node < 0 else (node, ~low, 1)


def aligned(values: list[Value]) -> list[tuple[int, int, list[Run]]]:
    """Values of one width cut at all their joints: (first bit, bits, the run of each)."""
    at = [0] * len(values)
    used = [0] * len(values)
    pieces = []
    low, width = 0, width_of(values[0])
    while low < width:
        count = min(v[i][2] - u for v, i, u in zip(values, at, used, strict=True))
        runs = []
        for k, value in enumerate(values):
            node, first, total = value[at[k]]
            moved = first + used[k] if first >= 0 and node >= 0 else first
            runs.append((node, moved, count))
            used[k] += count
            if used[k] == total:
                at[k], used[k] = at[k] + 1, 0
        pieces.append((low, count, runs))
        low += count
    return pieces


def extended(value: Value, width: int, *, signed: bool) -> Value:
    """A value at a larger width."""
    extra = width - width_of(value)
    if extra <= 0:
        return value
    if not signed:
        return (*value, (ZERO, 0, extra))
    node, first, count = value[-1]
    top = first if first < 0 else first + count - 1
    return join([value, repeat(((node, top, 1),), extra)])


def significant(value: Value) -> tuple[int, bool]:
    """Bits without those that extend the value, and whether it is extended by its sign."""
    node, first, count = value[-1]
    total = width_of(value)
    if node == ZERO:
        return max(1, total - count), False
    if node == ONE:
        return max(1, total - count + 1), True
    if first < 0 and len(value) > 1:
        below, low, size = value[-2]
        if below == node and low >= 0 and low + size - 1 == ~first:
            return total - count, True
    return total, True


def trailing_zeros(value: Value) -> int:
    """Low bits of a value that are zero."""
    node, _, count = value[0]
    return count if node == ZERO else 0


def part_of(run: Run, operand: Run) -> Run:
    """What of a logic node's operand the bits of a run of the node read."""
    node, low, count = operand
    if node < 0 or low < 0:
        return (node, low, run[2])
    if run[1] < 0:
        return (node, ~(low + ~run[1]), run[2])
    return (node, low + run[1], min(count, run[2]))


def registers_behind(nodes: Sequence[Node]) -> Counter[Value]:
    """Bits of registers that each enable or reset goes to."""
    found: Counter[Value] = Counter()
    for node in nodes:
        if node.kind == "register" and node.made:
            for control in node.operands[1:]:
                found[control] += node.made.bit_count()
    return found


def tables_behind(nodes: Sequence[Node]) -> Counter[tuple[int, int]]:
    """Lookup tables that read each (node, bit), as the leaves of logic name them."""
    found: Counter[tuple[int, int]] = Counter()
    for node in nodes:
        if node.kind == "logic":
            for leaf in node.leaves:
                found[leaf] += node.made.bit_count()
    return found
