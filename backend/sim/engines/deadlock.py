"""Why a design that stands still does: its blocked processes, in the words of the CPU simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.emit.fifo import filling
from allo.backend.rtl.waiting import Fifo, Member, ModuleWaits, Wait
from allo.dialects import deadlock
from allo.dialects.diagnostics import DeadlockError, SourcePlace

Signal = Callable[[str], int]
"""The value of a signal by its path, ``instance/…/name``; 0 where there is none."""

Places = Mapping[SourcePlace, SourcePlace]


@dataclass(slots=True, eq=False)
class _Region:
    """A region whose processes are listed: its path, FIFOs and processes by label."""

    path: str
    fifos: dict[str, Fifo]
    processes: dict[str, _Process] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _End:
    """What a stream port is joined to: a FIFO of a region, or (without one) a port of the top."""

    region: _Region | None
    label: str


@dataclass(slots=True, eq=False)
class _Process:
    """A process, and what it does."""

    name: str
    over: bool = False
    joining: bool = False
    waits: list[tuple[Wait, _End, SourcePlace | None]] = field(default_factory=list)


class Standing:
    """Reads which processes of a design wait.

    Args:
        signal: reads a signal, in a cycle in which the design stood still.
        outside: what a stream port of the top has passed, in words.
    """

    def __init__(
        self, design: HardwareDesign, signal: Signal, outside: Callable[[str], str]
    ) -> None:
        self._modules = design.waits
        self._signal = signal
        self._outside = outside
        self._processes: list[_Process] = []
        self._top = self._modules.get(design.board.core if design.board else design.top)
        if self._top is not None:
            ends = {port: _End(None, port) for port in self._top.ports}
            if self._top.region:
                self._region("", self._top, "", ends, ())
            else:
                process = _Process(self._top.name)
                self._processes.append(process)
                self._inside(process, "", self._top, ends, ())

    @property
    def blocked(self) -> list[_Process]:
        """Processes that wait for a stream."""
        return [process for process in self._processes if process.waits]

    @property
    def tries(self) -> bool:
        """Whether one of them asks a stream in vain, and does not wait."""
        return any(process.waits[0][0].tries for process in self.blocked)

    def notes(self) -> list[tuple[str, SourcePlace | None]]:
        """What each blocked process waits for, and where."""
        return [(self._describe(process), process.waits[0][2]) for process in self.blocked]

    def error(self) -> DeadlockError:
        """The error that lists the blocked processes."""
        full = [
            end.region.fifos[end.label].name
            for process in self.blocked
            for wait, end, _ in process.waits[:1]
            if wait.putting and end.region is not None
        ]
        alive = [process for process in self._processes if not process.over]
        name, place = ("", None) if self._top is None else (self._top.name, self._top.place)
        return deadlock.deadlock_error(
            name,
            place,
            self.notes(),
            max(len(alive), len(self.blocked)),
            full,
            tries=self.tries,
        )

    # --- reading ---------------------------------------------------------------------

    def _region(
        self,
        path: str,
        module: ModuleWaits,
        prefix: str,
        ends: Mapping[str, _End],
        places: tuple[Places, ...],
    ) -> bool:
        """Read a region's processes, then those of regions inside; whether one of them waits."""
        region = _Region(path, module.fifos)
        start, inner = len(self._processes), []
        for member in module.members:
            process = _Process(f"{prefix}{member.name}")
            process.over = bool(member.over) and bool(self._signal(f"{path}{member.over}"))
            region.processes[member.label] = process
            self._processes.append(process)
            joined = {
                port: _End(region, label) if label in module.fifos else ends.get(label)
                for port, label in member.sites[0][1].items()
            }
            own = {port: end for port, end in joined.items() if end is not None}
            inner.append((process, member, own))
        count = len(self._processes)
        for process, member, own in inner:
            below = f"{path}{member.label}/"
            self._inside(
                process, below, self._modules[member.module], own, (member.places, *places)
            )
        active = any(process.waits or process.joining for process in self._processes[start:])
        if not active and path:
            del self._processes[start:count]
        return active

    def _inside(
        self,
        process: _Process,
        path: str,
        module: ModuleWaits,
        ends: Mapping[str, _End],
        places: tuple[Places, ...],
    ) -> None:
        """Read where a process waits, in its own module and in those it calls."""
        for wait in module.waits:
            if wait.port in ends and self._signal(f"{path}{wait.signal}"):
                process.waits.append((wait, ends[wait.port], _translated(wait.place, places)))
        for member in module.members:
            called = self._modules[member.module]
            below = f"{path}{member.label}/"
            further = (member.places, *places)
            if called.region:
                if self._region(below, called, f"{process.name}/", {}, further):
                    process.joining = True
                continue
            joined = self._site(path, member)
            own = {port: ends[local] for port, local in joined.items() if local in ends}
            self._inside(process, below, called, own, further)

    def _site(self, path: str, member: Member) -> dict[str, str]:
        """The streams of the call that runs, or ran last."""
        for signal, joined in member.sites:
            if signal and self._signal(f"{path}{signal}"):
                return joined
        return member.sites[0][1]

    # --- words -----------------------------------------------------------------------

    def _describe(self, process: _Process) -> str:
        wait, end, _ = process.waits[0]
        loop = f" in front of pipelined loop {wait.loop}" if wait.loop else ""
        if end.region is None:
            doing, passed = _waits(wait, f"stream {end.label}"), self._outside(end.label)
            return f"{process.name} {doing}{loop}; its outside {passed}."
        fifo = end.region.fifos[end.label]
        path = f"{end.region.path}{fifo.label}"
        fill = sum(self._signal(f"{path}/{name}") for name in filling(fifo.depth))
        return (
            f"{process.name} {_waits(wait, f'FIFO {fifo.name}')} "
            f"({fill} of {fifo.depth} filled){loop}; {self._other_end(process, wait, end.region, fifo)}"
        )

    def _other_end(self, process: _Process, wait: Wait, region: _Region, fifo: Fifo) -> str:
        label = fifo.consumer if wait.putting else fifo.producer
        role = "reader" if wait.putting else "writer"
        other = region.processes.get(label)
        if other is None:
            return f"it has no {role}."
        if other is process:
            return f"its {role} is the same process."
        return f"its {role} {other.name} {self._doing(other)}."

    def _doing(self, process: _Process) -> str:
        if process.over:
            return "has finished"
        if process.joining:
            return "waits for the kernels of its own region"
        if not process.waits:
            return "is running"
        wait, end, _ = process.waits[0]
        if end.region is None:
            return _waits(wait, f"stream {end.label}")
        return _waits(wait, f"FIFO {end.region.fifos[end.label].name}")


def _waits(wait: Wait, called: str) -> str:
    return deadlock.waits_for(wait.putting, called, tries=wait.tries)


def _translated(place: SourcePlace | None, places: tuple[Places, ...]) -> SourcePlace | None:
    """The place in the function that a shared module stands for here."""
    for known in places:
        if place is not None:
            place = known.get(place, place)
    return place
