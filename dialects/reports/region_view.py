"""The rows that a report shows of its regions, the same for text and HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .network import base_name
from .regions import FifoReport, RegionReport

FIFO_HEADS = ("FIFO", "count", "depth", "bits", "most", "words", "full", "empty", "LUT", "BRAM")
FIFO_LEGEND = (
    "most: words held at a time; full: cycles producers wait for room; empty: consumers for words."
)
MOST_THROTTLES = 4


@dataclass(frozen=True, slots=True)
class FifoRow:
    """FIFOs of one array and depth, as one row of a table; figures of one FIFO are the largest of them."""

    name: str
    fifos: tuple[FifoReport, ...]

    def cells(self) -> tuple[str, ...]:
        """What the row says."""
        each = self.fifos
        sums = Counter[str]()
        for fifo in each:
            sums.update(fifo.resources)
        numbers = (
            len(each),
            each[0].depth,
            sum(fifo.bits for fifo in each),
            max(fifo.most for fifo in each),
            max(fifo.words for fifo in each),
            sum(fifo.full for fifo in each),
            sum(fifo.empty for fifo in each),
            sums["lut"],
            sums["bram"],
        )
        return (self.name, *(f"{number:,}" for number in numbers))


def fifo_rows(region: RegionReport) -> list[FifoRow]:
    """The FIFOs of a region, those of one array and depth in one row."""
    groups: dict[tuple[str, int, int], list[FifoReport]] = {}
    for fifo in region.fifos:
        key = (base_name(fifo.name), fifo.depth, fifo.width)
        groups.setdefault(key, []).append(fifo)
    return [
        FifoRow(group[0].name if len(group) == 1 else name, tuple(group))
        for (name, _, _), group in groups.items()
    ]


def sentences(region: RegionReport) -> Iterator[str]:
    """What a report says of a region beside its FIFOs."""
    where = f" ({region.path})" if region.path else ""
    if region.cycles is None:
        yield f"region {region.name}{where}: its cycles are not foretold, because {region.reason}."
        return
    yield f"region {region.name}{where}: {region.cycles:,} cycles foretold"
    for throttle in region.throttles[:MOST_THROTTLES]:
        what = "room in" if throttle.full else "words of"
        yield f"  {throttle.process} waits {throttle.cycles:,} cycles for {what} {throttle.fifo}"


def shown(regions: Iterable[RegionReport]) -> list[RegionReport]:
    """Regions to show: of several instances of one region with the same figures the first."""
    found: dict[str, RegionReport] = {}
    for region in regions:
        found.setdefault(f"{region.name} {region.cycles} {region.fifos} {region.reason}", region)
    return list(found.values())
