"""What csim must know of a dataflow program to report a deadlock: places, streams, calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from allo.dialects._mlir import ir
from allo.dialects.core.bounds import BoundsSite
from allo.dialects.deadlock import deadlock_error, waits_for
from allo.dialects.diagnostics import DeadlockError, SimulationError, SourcePlace


class State(IntEnum):
    """What a process does; the values are those of ``allo_dataflow.h``."""

    READY = 0
    PUTTING = 1
    GETTING = 2
    JOINING = 3
    FINISHED = 4


@dataclass(frozen=True, slots=True)
class StreamSite:
    """A stream's declaration.

    Attributes:
        depth: elements it holds, as declared.
        rows: pieces in which an element travels (rows of a block).
    """

    name: str
    depth: int
    rows: int
    place: SourcePlace | None


@dataclass(frozen=True, slots=True)
class Record:
    """A process that has not finished: ``call`` is which kernel call it runs, ``site`` where it is."""

    index: int
    parent: int
    call: int
    state: State
    stream: int
    site: int
    fill: int
    depth: int


@dataclass(slots=True)
class Simulation:
    """Numbers given out while the text for csim is printed, and what they stand for.

    Attributes:
        sites: place and message of puts, gets and assertions.
        calls: name of the kernel and place of each call in a region.
        writers, readers: calls at the two ends of each stream.
        checks: what each check of subscripts is about.
    """

    top: str
    place: SourcePlace | None = None
    sites: list[tuple[SourcePlace | None, str]] = field(default_factory=list)
    streams: list[StreamSite] = field(default_factory=list)
    calls: list[tuple[str, SourcePlace | None]] = field(default_factory=list)
    writers: dict[int, list[int]] = field(default_factory=dict)
    readers: dict[int, list[int]] = field(default_factory=dict)
    checks: list[BoundsSite] = field(default_factory=list)
    _numbers: dict[ir.Value, int] = field(default_factory=dict)

    def add_site(self, place: SourcePlace | None, message: str = "") -> int:
        """Number a put, a get or an assertion by its place and message."""
        self.sites.append((place, message))
        return len(self.sites) - 1

    def add_check(self, site: BoundsSite) -> int:
        """Number a check of subscripts."""
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
        self.calls.append((callee.attributes["sym_name"].value, place))
        for operand, argument in zip(
            op.operands, callee.regions[0].blocks[0].arguments, strict=True
        ):
            stream = self._numbers.get(operand)
            if stream is None:
                continue
            users = {use.owner.operation.name for use in argument.uses}
            if "allo.put" in users:
                self.writers.setdefault(stream, []).append(number)
            if users & {"allo.get", "allo.get_block"}:
                self.readers.setdefault(stream, []).append(number)
        return number

    # --- reports --------------------------------------------------------------

    def deadlock(self, records: list[Record]) -> DeadlockError:
        """One note for every blocked process: where it waits, for which FIFO, what the other end does."""
        blocked = [r for r in records if r.state in (State.PUTTING, State.GETTING)]
        waiting = []
        for record in blocked:
            place = self.sites[record.site][0] if record.site >= 0 else None
            waiting.append((self._describe(record, records), place))
        return deadlock_error(
            self.top,
            self.place,
            waiting,
            len(records),
            [self.streams[r.stream].name for r in blocked if r.state is State.PUTTING],
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

    def _describe(self, record: Record, records: list[Record]) -> str:
        stream = self.streams[record.stream]
        waits = waits_for(record.state is State.PUTTING, stream.name)
        fill = record.fill // stream.rows
        return (
            f"{self._name(record, records)} {waits} "
            f"({fill} of {stream.depth} filled); {self._other_end(record, records)}"
        )

    def _name(self, record: Record, records: list[Record]) -> str:
        name = self.calls[record.call][0]
        parent = next((r for r in records if r.index == record.parent), None)
        return name if parent is None else f"{self._name(parent, records)}/{name}"

    def _other_end(self, record: Record, records: list[Record]) -> str:
        putting = record.state is State.PUTTING
        ends = (self.readers if putting else self.writers).get(record.stream, [])
        role = "reader" if putting else "writer"
        if not ends:
            return f"it has no {role}."
        if record.call in ends:
            return f"its {role} is the same process."
        for other in records:
            if other.parent == record.parent and other.call in ends:
                return f"its {role} {self._name(other, records)} {self._doing(other)}."
        return f"its {role} {self.calls[ends[0]][0]} has finished."

    def _doing(self, record: Record) -> str:
        if record.state is State.JOINING:
            return "waits for the kernels of its own region"
        if record.state is State.READY:
            return "is running"
        return waits_for(record.state is State.PUTTING, self.streams[record.stream].name)
