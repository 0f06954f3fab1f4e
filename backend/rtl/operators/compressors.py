"""Sums of single bits by compressors: carry chains of a few places whose tables count bits on their way in.

The bits stand in columns by their weight, as a heap. The table in front of a place of a carry chain reads six
bits: one is an operand of the chain, and the other operand is any function of five more. So a chain of three
places adds up three bits of weights 1, 2 and 4, the ones among five more, and a carry that comes in: nine
bits become four, and each table takes away one and two thirds, where one of an adder takes away one. The heap
is compressed in stages until one chain adds up what is left.

Preusser, "Generic and universal parallel matrix summation with a flexible compression goal for Xilinx FPGAs",
FPL 2017, ranks counters by what they take away for each table; Kumm and Zipf, "Pipelined compressor tree
optimization using integer linear programming", FPL 2014, have counters on carry chains. Here every counter is
an ordinary sum, which synthesis puts on a carry chain, so no cell is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from .netlist import Signal, cat

OF_BITS, OF_GATES = "sum.columns", "sum.columns_of_gates"
"""Operations of the hardware compiler: columns of bits, the lowest first, and a constant, added up. The bits
of the second one are made by gates of two others, so that a table in front of it reads three of them."""
INSIDE = 5
"""Bits that a table of six inputs reads beside one operand of its place of a carry chain."""
LEAST = 6
"""Operands below which a sum stays one of adders."""
_PLACES = 3
"""Of the longest counter: the bits of a count of five."""

Heights = tuple[int, ...]
"""Bits of each weight, the lowest first."""


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring places of a carry chain, and what they add up.

    Attributes:
        operand: whether each place has a bit of the plain operand.
        counted: bits of each weight of which the tables make the other operand.
    """

    operand: tuple[int, ...]
    counted: tuple[int, ...]

    @property
    def tables(self) -> int:
        """Places whose table is more than a wire."""
        most = _weighed(self.counted)
        low = next((k for k, n in enumerate(self.counted) if n), len(self.counted))
        return max(0, most.bit_length() - low)


@dataclass(frozen=True, slots=True)
class Counter:
    """A chain of one block and a carry that comes in, or none.

    Attributes:
        takes: bits of each weight.
        gives: bits of the sum.
    """

    block: Block
    carry: int
    takes: Heights
    gives: int

    @property
    def gain(self) -> int:
        """Bits that it takes away."""
        return sum(self.takes) - self.gives

    @property
    def rank(self) -> tuple[float, int]:
        """What it takes away for each table, and in all, of which more is better."""
        return self.gain / self.block.tables, self.gain


def sum_of_columns(
    columns: Sequence[Sequence[Signal]], width: int, *, gates: bool = False
) -> Signal:
    """The low bits of a sum of single bits, of which those of column ``k`` have the weight ``2**k``.

    Args:
        columns: the bits of each weight, one or more in all.
        width: of the result.
        gates: whether each bit is made by a gate of two others, so that a table in front reads three bits.
    """
    net = next(bit for column in columns for bit in column).net
    heap = [list(column) for column in columns[:width]]
    heap += [[] for _ in range(width - len(heap))]
    if gates:
        heap = _by_threes(heap)
    while (blocks := _last(tuple(map(len, heap)))) is None:
        heap = _compressed(heap)
    found: list[Signal] = []
    for column in heap[: width - sum(len(block.operand) for block in blocks)]:
        found.append(column[0] if column else net.const(0, 1))
    low, rest = len(found), heap[len(found) :]
    if blocks:
        carry = [rest[0].pop()] if len(rest[0]) > 2 else []
        found.append(_chain(rest, blocks, carry).bits(len(carry), width - low))
    return cat(*reversed(found))


def saves(fanin: int, heights: Sequence[int], width: int) -> bool:
    """Whether a family's tables are wide enough to count in front of a carry chain, and that takes fewer.

    Args:
        fanin: inputs of its lookup tables.
        heights: bits of each weight.
        width: of the sum.
    """
    return fanin > INSIDE and tables_of(tuple(heights), width) < _adders(sum(heights))


def _adders(bits: int) -> int:
    """Lookup tables of a tree of adders, of which each takes one for each bit of its operands."""
    total, width = 0, 1
    while bits > 1:
        total += bits // 2 * width
        bits, width = (bits + 1) // 2, width + 1
    return total


def tables_of(heights: Heights, width: int) -> int:
    """Lookup tables of a sum of so many bits of each weight."""
    heap, total = [*heights[:width], *[0] * (width - len(heights))], 0
    while (blocks := _last(tuple(heap))) is None:
        following = [0] * (width + _PLACES)
        for place, counter in _stage(heap):
            total += counter.block.tables
            for k in range(counter.gives):
                following[place + k] += 1
        heap = [a + b for a, b in zip(heap, following, strict=False)]
    return total + sum(block.tables for block in blocks)


# --- stages -----------------------------------------------------------------------------------


def _stage(heights: list[int]) -> Iterator[tuple[int, Counter]]:
    """The counters of a stage and where they begin; takes their bits off the heights."""
    for counter in _counters():
        for place in range(len(heights) - len(counter.takes) + 1):
            span = range(place, place + len(counter.takes))
            while all(heights[k] >= n for k, n in zip(span, counter.takes, strict=True)):
                for k, n in zip(span, counter.takes, strict=True):
                    heights[k] -= n
                yield place, counter


def _compressed(heap: list[list[Signal]]) -> list[list[Signal]]:
    """The heap behind a stage of counters; the bits that none of them takes come first."""
    made: list[list[Signal]] = [[] for _ in range(len(heap) + _PLACES)]
    for place, counter in _stage([len(column) for column in heap]):
        taken = [
            [heap[place + k].pop(0) for _ in range(count)] for k, count in enumerate(counter.takes)
        ]
        carry = [taken[0].pop()] if counter.carry else []
        total = _chain(taken, [counter.block], carry)
        for k in range(counter.gives):
            made[place + k].append(total.bit(len(carry) + k))
    return [old + new for old, new in zip(heap, made, strict=False)]


def _by_threes(heap: list[list[Signal]]) -> list[list[Signal]]:
    """Three bits of a weight as one, and one of the next weight: functions of six bits behind gates."""
    made: list[list[Signal]] = [[] for _ in range(len(heap) + 1)]
    for place, column in enumerate(heap):
        whole = len(column) // 3 * 3
        for k in range(0, whole, 3):
            low, high = _added(column[k : k + 3])
            made[place].append(low)
            made[place + 1].append(high)
        made[place] += column[whole:]
    return made[: len(heap)]


# --- one chain --------------------------------------------------------------------------------


def _chain(taken: list[list[Signal]], blocks: Sequence[Block], carry: list[Signal]) -> Signal:
    """The sum of bits, and a place more for its last carry; ``carry``: a place in front of them, too."""
    zero = next(bit for column in taken for bit in column).net.const(0, 1)
    one, other, place = list(carry), list(carry), 0
    for block in blocks:
        inside: list[list[Signal]] = []
        for k, plain in enumerate(block.operand):
            column = taken[place + k]
            one.append(column.pop() if plain else zero)
            inside.append([column.pop() for _ in range(block.counted[k])])
        other += _counted(inside, zero)
        place += len(block.operand)
    return cat(zero, *reversed(one)) + cat(zero, *reversed(other))


def _counted(columns: list[list[Signal]], zero: Signal) -> list[Signal]:
    """The digits of a sum of few bits by gates, as many as there are columns."""
    found: list[Signal] = []
    carries: list[Signal] = []
    for column in columns:
        left, following = [*column, *carries], []
        while len(left) > 1:
            low, high = _added(left[:3])
            left = [low, *left[3:]]
            following.append(high)
        found.append(left[0] if left else zero)
        carries = following
    return found


def _added(bits: Sequence[Signal]) -> tuple[Signal, Signal]:
    """The sum of two or three bits, and its carry."""
    differ = bits[0] ^ bits[1]
    if len(bits) == 2:
        return differ, bits[0] & bits[1]
    return differ ^ bits[2], (bits[0] & bits[1]) | (differ & bits[2])


# --- choices ----------------------------------------------------------------------------------


def _weighed(counts: Sequence[int]) -> int:
    return sum(count << k for k, count in enumerate(counts))


def _blocks(places: int) -> Iterator[Block]:
    """What so many places can add up: their tables hold the digits of what they count."""
    for counted in product(range(INSIDE + 1), repeat=places):
        if 0 < sum(counted) <= INSIDE and _weighed(counted) < 1 << places:
            for operand in product((0, 1), repeat=places):
                yield Block(operand, counted)


@cache
def _counters() -> tuple[Counter, ...]:
    """The counters that take away a bit for each table or more, the best first."""
    found: dict[Heights, Counter] = {}
    for places in range(1, _PLACES + 1):
        for block in _blocks(places):
            for carry in (0, 1):
                both = zip(block.operand, block.counted, strict=True)
                takes = tuple(a + b + carry * (k == 0) for k, (a, b) in enumerate(both))
                made = Counter(block, carry, takes, _weighed(takes).bit_length())
                known = found.get(takes)
                if made.gain >= block.tables and (known is None or made.rank > known.rank):
                    found[takes] = made
    return tuple(sorted(found.values(), key=lambda c: c.rank, reverse=True))


@cache
def _last(heights: Heights) -> tuple[Block, ...] | None:
    """The blocks of one chain that adds up all from the first column of several bits on; None: none does."""
    start = next((k for k, n in enumerate(heights) if n > 1), len(heights))
    found = _ending(heights[start:], True)
    return None if found is None else found[1]


@cache
def _ending(heights: Heights, first: bool) -> tuple[int, tuple[Block, ...]] | None:
    """The fewest tables of a chain of such columns, and its blocks."""
    if not heights:
        return 0, ()
    best: tuple[int, tuple[Block, ...]] | None = None
    for places in range(1, min(_PLACES, len(heights)) + 1):
        here = heights[:places]
        operand = tuple(min(1, n) for n in here)
        counted = [n - a for n, a in zip(here, operand, strict=True)]
        counted[0] -= first and counted[0] > 1
        top = len(heights) == places  # what is carried out of the last place is not looked at
        if sum(counted) > INSIDE or (_weighed(counted) >= 1 << places and not top):
            continue
        rest = _ending(heights[places:], False)
        if rest is None:
            continue
        block = Block(operand, tuple(counted))
        tables = min(block.tables, places) + rest[0]
        if best is None or tables < best[0]:
            best = tables, (block, *rest[1])
    return best
