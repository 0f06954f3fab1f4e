"""A walk over the elements of an array in row-major order, some of them in a step: bank and word of each.

No product and no division is computed: each dimension has registers that count its bank and its word,
both already multiplied by what they weigh.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from allo.dialects.core.partition import ArrayLayout, DimPartition, Partition

from ..emit.builder import ModuleBuilder
from ..graph.linear import bits_unsigned

BUSY = 0.8
"""Of the words that a bus of 512 bits can bring, so many come from one channel of a memory at most."""
SAVES = 1.25
"""Times the steps, for which a step may be no power of two of elements."""


def merged(layout: ArrayLayout) -> tuple[DimPartition, ...]:
    """The dimensions of an array, those that a walk crosses as if they were one joined.

    These are neighbours in one piece, and a dimension in one piece in front of one whose banks divide it: a
    row then begins in the bank behind the one in which the row before ends.
    """
    found: list[DimPartition] = []
    for dim in layout.dims:
        if dim.banks == 1:
            dim = DimPartition(None, 1, dim.extent)
        if found and found[-1].kind is None and _goes_on(dim):
            kind = None if dim.banks == 1 else Partition.Cyclic
            found[-1] = DimPartition(kind, dim.banks, found[-1].extent * dim.extent)
        else:
            found.append(dim)
    return tuple(found) or (DimPartition(None, 1, 1),)


def _goes_on(dim: DimPartition) -> bool:
    """Whether the next row goes on in the first bank, and each bank with its next word."""
    if dim.kind is None:
        return True
    return dim.kind is not Partition.Block and dim.extent % dim.banks == 0


def copy_lanes(layout: ArrayLayout, most: int, *, uneven: bool = True) -> int:
    """Elements that a copy takes in one step from a bus of ``most``, each in a bank of its own.

    As few as keep up with the bus, or else as many as go.

    Args:
        uneven: whether it may be no power of two. That takes shifters between the words of the bus and the
            steps, so it is taken only where it saves much.
    """
    if not uneven:
        return most_lanes(layout, most)
    dims = merged(layout)
    last, total = dims[-1], prod(dim.extent for dim in dims)
    lanes = most_lanes(layout, most)
    if lanes >= most or last.kind not in (Partition.Cyclic, Partition.Complete):
        return lanes
    whole = last.extent if len(dims) > 1 else total
    several = [n for n in range(lanes + 1, 2 * most + 1) if last.banks % n == whole % n == 0]
    best = min(several, key=lambda n: (_steps(n, most, total), n), default=lanes)
    return best if SAVES * _steps(best, most, total) <= _steps(lanes, most, total) else lanes


def _steps(lanes: int, most: int, total: int) -> float:
    """About the cycles of a copy: a memory brings at most so many words of a bus."""
    return total / min(lanes, BUSY * most)


def most_lanes(layout: ArrayLayout, most: int) -> int:
    """Elements that may be taken in one step: a power of two, of which each has its own bank."""
    dims = merged(layout)
    last, lanes = dims[-1], 1
    if last.kind not in (Partition.Cyclic, Partition.Complete):
        return 1
    while (
        2 * lanes <= most
        and last.banks % (2 * lanes) == 0
        and (len(dims) == 1 or last.extent % (2 * lanes) == 0)
    ):
        lanes *= 2
    return lanes


def folded(layout: ArrayLayout, fold: int) -> ArrayLayout:
    """The layout in which each bank is cut into so many, of which each has every ``fold``-th word.

    Word ``w`` of bank ``b`` is then word ``w // fold``; :func:`fold_of` says of which bank.
    """
    if fold == 1:
        return layout
    *others, last = merged(layout)
    return ArrayLayout((*others, DimPartition(Partition.Cyclic, last.banks * fold, last.extent)))


def fold_of(layout: ArrayLayout, fold: int, bank: int) -> list[int]:
    """The banks that one bank is cut into, in the order of its words."""
    last = merged(layout)[-1].banks
    first = bank // last * last * fold + bank % last
    return [first + turn * last for turn in range(fold)]


def most_fold(layout: ArrayLayout, most: int) -> int:
    """Into how many each bank can be cut so that a step takes more elements, at most ``most``.

    Rows of the last dimension then begin in the first bank, and each bank keeps two words or more.
    """
    dims = merged(layout)
    last, fold = dims[-1], 1
    if last.kind not in (None, Partition.Cyclic):
        return 1
    while (
        2 * fold * last.banks <= most
        and layout.bank_depth >= 4 * fold
        and (len(dims) == 1 or last.extent % (2 * fold * last.banks) == 0)
    ):
        fold *= 2
    return fold


@dataclass(frozen=True, slots=True)
class Walk:
    """SSA names of a walk.

    Attributes:
        bank: number of the bank of the step's first element, "" where there is one bank only.
        word: address in the bank.
        last: whether the step is the last one.
    """

    bank: str
    bank_bits: int
    word: str
    word_bits: int
    last: str


def emit_walk(
    text: ModuleBuilder, layout: ArrayLayout, lanes: int, step: str, restart: str
) -> Walk:
    """A walk that goes on in each ``step`` and begins again at ``restart``, or behind its end."""
    dims = merged(layout)
    bank_bits = bits_unsigned(layout.bank_count - 1)
    word_bits = bits_unsigned(layout.bank_depth - 1)
    banks: list[str] = []
    words: list[str] = []
    ends: list[str] = []
    advance = step
    bank_weight = word_weight = 1
    for number in reversed(range(len(dims))):
        dim = dims[number]
        group = lanes if number == len(dims) - 1 else 1
        made = _Dimension(text, dim, number, group, bank_weight, word_weight, bank_bits, word_bits)
        end = made.emit(advance, restart)
        banks += [made.bank] if made.bank else []
        words += [made.word] if made.word else []
        ends += [end] if end else []
        advance = text.all_of(advance, end) if end else advance
        bank_weight *= dim.banks
        word_weight *= dim.depth
    return Walk(
        _sum(text, banks, bank_bits) if banks else "",
        bank_bits,
        _sum(text, words, word_bits) if words else text.const(0, word_bits),
        word_bits,
        text.all_of(*ends),
    )


def _sum(text: ModuleBuilder, values: list[str], bits: int) -> str:
    total = values[0]
    for value in values[1:]:
        total = text.binary("add", total, value, bits)
    return total


@dataclass(slots=True)
class _Dimension:
    """One dimension of a walk; ``bank`` and ``word`` are "" where they never change."""

    text: ModuleBuilder
    dim: DimPartition
    number: int
    group: int
    bank_weight: int
    word_weight: int
    bank_bits: int
    word_bits: int
    bank: str = ""
    word: str = ""

    def emit(self, advance: str, restart: str) -> str:
        """Registers that move on ``advance``; whether they stand at the end, "" where always."""
        last = (self.dim.extent - 1) // self.group * self.group
        if last == 0:
            return ""
        bank, word = self.dim.split(last)
        if self.dim.kind is Partition.Block:
            inner, outer = ("word", self.dim.depth - 1), ("bank", self.dim.banks - 1)
        else:
            inner, outer = ("bank", self.dim.banks - self.group), ("word", self.dim.depth - 1)
        at = {"bank": bank, "word": word}
        text = self.text
        names = {
            kind: text.named(f"{kind}{self.number}") for kind, most in (inner, outer) if most > 0
        }
        end = text.all_of(*(self._is(kind, names[kind], at[kind]) for kind in names))
        back = text.any_of(restart, text.all_of(advance, end))
        carry = advance
        for kind, most in (inner, outer):
            if kind not in names:
                continue
            wraps = self._is(kind, names[kind], most)
            self._count(kind, names[kind], carry, wraps, back)
            carry = text.all_of(carry, wraps)
        self.bank, self.word = names.get("bank", ""), names.get("word", "")
        return end

    def _weight(self, kind: str) -> tuple[int, int, int]:
        """(weight, bits, by how much it counts) of a register."""
        if kind == "bank":
            return self.bank_weight, self.bank_bits, self.group
        return self.word_weight, self.word_bits, 1

    def _is(self, kind: str, name: str, value: int) -> str:
        weight, bits, _ = self._weight(kind)
        return self.text.compare("eq", name, self.text.const(value * weight, bits), bits)

    def _count(self, kind: str, name: str, step: str, wraps: str, back: str) -> None:
        text = self.text
        weight, bits, stride = self._weight(kind)
        more = text.binary("add", name, text.const(weight * stride, bits), bits)
        zero = text.const(0, bits)
        following = text.mux(text.any_of(wraps, back), zero, more, bits)
        text.register(name, following, bits, enable=text.any_of(step, back), reset=0)
