"""What csim must know of a dataflow program to report a deadlock: places, streams, calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import string_attribute
from allo.dialects.boundary.stream_arrays import passed_words
from allo.dialects.core.bounds import Site
from allo.dialects.core.fifos import GETS, PUTS
from allo.dialects.core.signature import entry_of, symbol
from allo.dialects.diagnostics import SimulationError, SourcePlace
from allo.dialects.fibers import FifoEnds, Network
from allo.dialects.passes.merge_instances import INSTANCE


@dataclass(frozen=True, slots=True)
class StreamSite:
    """A stream's declaration.

    Attributes:
        depth: elements it holds, as declared.
        rows: pieces in which an element travels (rows of a block).
        fills: of a stream argument of the top, whether it is put into; None for a FIFO of a region.
    """

    name: str
    depth: int
    rows: int
    place: SourcePlace | None
    fills: bool | None = None


@dataclass(slots=True)
class Simulation:
    """Numbers given out while the text for csim is printed, and what they stand for.

    Attributes:
        sites: place and message of puts, gets and assertions.
        calls: name of the kernel and place of each call in a region.
        writers, readers: calls at the two ends of each stream.
        checks: what each check is about.
    """

    top: str
    place: SourcePlace | None = None
    sites: list[tuple[SourcePlace | None, str]] = field(default_factory=list)
    streams: list[StreamSite] = field(default_factory=list)
    calls: list[tuple[str, SourcePlace | None]] = field(default_factory=list)
    writers: dict[int, list[int]] = field(default_factory=dict)
    readers: dict[int, list[int]] = field(default_factory=dict)
    checks: list[Site] = field(default_factory=list)
    _numbers: dict[ir.Value, int] = field(default_factory=dict)

    def add_site(self, place: SourcePlace | None, message: str = "") -> int:
        """Number a put, a get or an assertion by its place and message."""
        self.sites.append((place, message))
        return len(self.sites) - 1

    def add_check(self, site: Site) -> int:
        """Number a check."""
        self.checks.append(site)
        return len(self.checks) - 1

    def add_stream(self, value: ir.Value, site: StreamSite) -> int:
        """Number a stream, and note which value stands for it."""
        self.streams.append(site)
        self._numbers[value] = len(self.streams) - 1
        return len(self.streams) - 1

    def add_call(self, op: ir.Operation, callee: ir.Operation, place: SourcePlace | None) -> int:
        """Number a kernel call and note at which ends of which streams it stands."""
        number = len(self.calls)
        self.calls.append((string_attribute(op, INSTANCE) or symbol(callee), place))
        for operand, argument in zip(op.operands, entry_of(callee).arguments, strict=True):
            stream = self._numbers.get(operand)
            if stream is None:
                continue
            users = {use.owner.operation.name for use in argument.uses}
            if users & PUTS:
                self.writers.setdefault(stream, []).append(number)
            if users & GETS:
                self.readers.setdefault(stream, []).append(number)
        return number

    # --- reports --------------------------------------------------------------

    def port(self, name: str) -> tuple[int, StreamSite]:
        """The number of a stream argument of the top, and what it is."""
        return next(
            (number, site)
            for number, site in enumerate(self.streams)
            if site.name == name and site.fills is not None
        )

    def network(self, words: Mapping[str, int], rooms: Mapping[str, int]) -> Network:
        """What the numbers in the records of a run stand for.

        Args:
            words, rooms: of each stream argument how many words have passed, and of how many.
        """
        return Network(
            self.top,
            self.place,
            [name for name, _ in self.calls],
            [place for place, _ in self.sites],
            [
                FifoEnds(
                    s.name,
                    self.writers.get(k, ()),
                    self.readers.get(k, ()),
                    s.rows,
                    "" if s.fills is None else passed_words(s.fills, words[s.name], rooms[s.name]),
                )
                for k, s in enumerate(self.streams)
            ],
        )

    def empty_read(self, stream: int) -> SimulationError:
        """A read, outside any region, of a stream that nobody filled."""
        site = self.streams[stream] if stream >= 0 else None
        return SimulationError(
            f"{self.top} reads the FIFO {site.name if site else ''} while it is empty, outside a "
            "dataflow region.",
            site.place if site else self.place,
            help="fill it first, or run reader and writer as kernels of a region.",
        )

    def assertion(self, site: int) -> SimulationError:
        """An ``allo.assert`` that does not hold."""
        place, message = self.sites[site]
        return SimulationError(f"Assertion failed: {message}", place)
