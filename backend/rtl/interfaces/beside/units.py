"""Runs counted in units: the largest piece of which lines, words, starts and lengths are made."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from allo.dialects.interfaces.runs import Runs

from ...graph.linear import bits_unsigned


@dataclass(frozen=True, slots=True)
class Units:
    """The runs of an array on a bus; everything but ``bits`` is in units.

    Attributes:
        bits: of a unit.
        line: of the bus, a power of two.
        word: what the core takes or gives at once.
        base, dims, length: as in :class:`~allo.dialects.interfaces.runs.Runs`.
    """

    bits: int
    line: int
    word: int
    base: int
    dims: tuple[tuple[int, int], ...]
    length: int

    @staticmethod
    def of(runs: Runs, cell: int, width: int) -> Units:
        """Runs of elements of ``cell`` bits on a bus of ``width`` bits."""
        sizes = [runs.word, runs.base, *(stride for _, stride in runs.dims)]
        bits = gcd(width, *(size * cell for size in sizes))

        def units(elements: int) -> int:
            return elements * cell // bits

        return Units(
            bits,
            width // bits,
            units(runs.word),
            units(runs.base),
            tuple((extent, units(stride)) for extent, stride in runs.dims),
            units(runs.length),
        )

    @property
    def starts(self) -> tuple[int, int]:
        """The lowest and the highest start."""
        reach = [stride * (extent - 1) for extent, stride in self.dims]
        return self.base + sum(min(0, r) for r in reach), self.base + sum(max(0, r) for r in reach)

    @property
    def start_bits(self) -> int:
        """Bits of a start."""
        return bits_unsigned(self.starts[1])

    @property
    def is_aligned(self) -> bool:
        """Whether every run starts at a line."""
        return not (self.base % self.line or any(s % self.line for _, s in self.dims))

    @property
    def most_lines(self) -> int:
        """Lines that a run touches at most."""
        offset = 0 if self.is_aligned else self.line - 1
        return -(-(offset + self.length) // self.line)
