"""What a search for the smallest FIFOs found, as plain data and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO

from rich import box
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class SizedFifo:
    """FIFOs that have one depth: their region and name, bits of a word, how many there are, their depths."""

    region: str
    name: str
    width: int
    count: int
    before: int
    after: int
    words: int

    @property
    def bits(self) -> int:
        """Bits of their words now."""
        return self.width * self.count * self.after


@dataclass(frozen=True, slots=True)
class Sizing:
    """What the search found.

    Attributes:
        cycles: of a run with these depths; ``unbounded``: with FIFOs that are never full; ``before``: with
            those of the program, None where they deadlock.
        runs: how many runs were timed.
    """

    cycles: int
    unbounded: int
    before: int | None
    fifos: tuple[SizedFifo, ...]
    runs: int

    @property
    def bits(self) -> int:
        """Bits of all words now."""
        return sum(fifo.bits for fifo in self.fifos)

    @property
    def bits_before(self) -> int:
        """Bits of all words with the depths of the program."""
        return sum(fifo.width * fifo.count * fifo.before for fifo in self.fifos)

    @property
    def bits_of_all(self) -> int:
        """Bits where each FIFO holds all words that pass through it."""
        return sum(fifo.width * fifo.words for fifo in self.fifos)

    def table(self) -> str:
        """The FIFOs before and after, and what was found, as text."""
        buffer = StringIO()
        console = Console(file=buffer, width=120, color_system=None, markup=False, highlight=False)
        table = Table(box=box.SIMPLE)
        for position, head in enumerate(
            ("FIFO", "count", "width", "depth before", "depth", "bits")
        ):
            table.add_column(head, justify="right" if position else "left")
        for fifo in self.fifos:
            numbers = (fifo.count, fifo.width, fifo.before, fifo.after, fifo.bits)
            table.add_row(fifo.name, *(f"{number:,}" for number in numbers))
        console.print(table)
        before = "they deadlock" if self.before is None else f"{self.before:,} cycles"
        share = self.bits / self.bits_of_all if self.bits_of_all else 1.0
        console.print(
            f"{self.cycles:,} cycles; {self.unbounded:,} with FIFOs that are never full; before {before}."
        )
        console.print(
            f"{self.bits:,} bits; before {self.bits_before:,}; {share:.1%} of FIFOs that hold all words."
        )
        lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
        return "\n".join(line for line in lines if line) + "\n"

    def __str__(self) -> str:
        return self.table()
