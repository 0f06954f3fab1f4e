"""How bits of a word come to the lanes that look at them: many at once by a shift, or one to many lanes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

_WIDE = 6
"""Lanes from which on a bit goes to all of them at once."""
_SHIFT, _SPREAD, _COMPARISON = 3, 4, 16
"""Instructions: to move some bits by one distance, to spread one, and to compare 64 bits in 16 lanes."""


@dataclass(frozen=True, slots=True)
class Moves:
    """The bits of a word that each lane looks at.

    Attributes:
        by: for each distance to the left, the lanes that bits come to from there.
        spread: for each bit, the lanes that it comes to.
    """

    by: dict[int, int]
    spread: dict[int, int]

    @property
    def cost(self) -> int:
        """Instructions, about."""
        return _SHIFT * len(self.by) + _SPREAD * len(self.spread)


def moves_of(masks: Sequence[int]) -> Moves:
    """The moves after which lane ``k`` has seen the bits of mask ``k``."""
    bits = [[at for at in range(mask.bit_length()) if mask >> at & 1] for mask in masks]
    counts = Counter(at for row in bits for at in row)
    by: dict[int, int] = defaultdict(int)
    spread: dict[int, int] = defaultdict(int)
    for lane, row in enumerate(bits):
        for at in row:
            if counts[at] >= _WIDE:
                spread[at] |= 1 << lane
            else:
                by[lane - at] |= 1 << lane
    return Moves(dict(by), dict(spread))


def compared_cost(bits: int, lanes: int) -> int:
    """Instructions, about, of comparing a word with another mask for each lane."""
    return _COMPARISON * -(-bits // 64) * -(-lanes // 16)
