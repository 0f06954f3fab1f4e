"""FIFOs and the processes of a region at work: each process is a Python generator."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any

from allo.dialects.diagnostics import DeadlockError, SourcePlace

from .arrays import Array

Wait = tuple["Fifo", str, int]
"""What a process waits for: a FIFO, ``put`` or ``get``, and the number of the place; of one that only
tries ``try_put`` or ``try_get``."""

TURN: Wait | tuple[None, str, int] = (None, "turn", 0)
"""What a process hands over that lets the others run once, in each iteration of a loop without an end."""

LOOK, MOST_TRIES = 1 << 12, 1 << 20
"""Tries without success after which a region is looked at, and after which one without progress ends."""


class Fifo:
    """A FIFO of exactly its depth.

    Attributes:
        name: the user's name, with indices.
        depth: how many elements it holds.
        items: what it holds, oldest first.
        moved: how many puts and gets have passed.
        waiting: the process that waits for it to change, if any.
        ready: where a process that may go on is put.
    """

    __slots__ = ("depth", "items", "moved", "name", "ready", "waiting")

    def __init__(self, name: str, depth: int) -> None:
        self.name = name
        self.depth = depth
        self.items: deque[Any] = deque()
        self.moved = 0
        self.waiting: Process | None = None
        self.ready: deque[Process] | None = None

    def put(self, value: Any, place: int) -> Generator[Wait, None, None]:
        """Append an element, as soon as there is room."""
        while len(self.items) >= self.depth:
            yield self, "put", place
        self.items.append(value)
        self._wake()

    def get(self, place: int) -> Generator[Wait, None, Any]:
        """Take the oldest element, as soon as there is one."""
        while not self.items:
            yield self, "get", place
        value = self.items.popleft()
        self._wake()
        return value

    def try_put(self, value: Any, place: int) -> Generator[Wait, None, int]:
        """Append an element if there is room, now or when the others have run; whether there was."""
        if (yield from self.full(place)):
            return 0
        self.items.append(value)
        self._wake()
        return 1

    def try_get(self, place: int, zero: Any) -> Generator[Wait, None, tuple[Any, int]]:
        """The oldest element and 1 if there is one, now or when the others have run; else zero and 0."""
        if (yield from self.empty(place)):
            return zero, 0
        value = self.items.popleft()
        self._wake()
        return value, 1

    def full(self, place: int) -> Generator[Wait, None, int]:
        """Whether there is no room, now and when the others have run."""
        if len(self.items) >= self.depth:
            yield self, "try_put", place
        return int(len(self.items) >= self.depth)

    def empty(self, place: int) -> Generator[Wait, None, int]:
        """Whether there is no element, now and when the others have run."""
        if not self.items:
            yield self, "try_get", place
        return int(not self.items)

    def _wake(self) -> None:
        self.moved += 1
        if self.waiting is not None and self.ready is not None:
            self.ready.append(self.waiting)
            self.waiting = None


class Process:
    """One instance of a kernel.

    Attributes:
        name: as the core IR names it: ``kernel_0_1``.
        run: the generator of its steps.
        endless: the region does not wait for it.
        wait: what it waits for.
    """

    __slots__ = ("endless", "name", "run", "wait")

    def __init__(self, name: str, run: Generator[Wait, None, None], endless: bool) -> None:
        self.name = name
        self.run = run
        self.endless = endless
        self.wait: Wait | None = None


def run_processes(
    places: list[SourcePlace],
    region: str,
    runs: list[tuple[str, Generator[Wait, None, None], bool]],
    ports: list[tuple[Fifo, bool]],
) -> None:
    """Run the processes of a region until all have ended that ever do; where none does, until words run out.

    They take turns in the order in which they are written, and change only when one has to wait, or
    tries in vain: then the others run, and it looks again.

    Args:
        ports: FIFOs whose other end is outside, and whether the region puts into them.

    Raises:
        DeadlockError: when none can go on; every waiting process is listed.
    """
    processes = [Process(*run) for run in runs]
    ready = deque(processes)
    running: dict[str, Process] = {process.name: process for process in processes}
    stalled = _Stalled()
    forever = bool(processes) and all(process.endless for process in processes)
    while ready and (forever or not all(process.endless for process in running.values())):
        process = ready.popleft()
        process.wait = next(process.run, None)
        if process.wait is None:
            del running[process.name]
            stalled.tries = 0
            continue
        if process.wait is TURN:
            process.wait = None
            ready.append(process)
            continue
        fifo, action, _ = process.wait
        if action.startswith("try"):
            ready.append(process)
            if stalled.after(fifo):
                if forever and _is_used_up(ports):
                    return
                raise _deadlock(places, region, list(running.values()), tries=True)
            continue
        fifo.waiting, fifo.ready = process, ready
    if forever and _is_used_up(ports):
        return
    if forever or not all(process.endless for process in running.values()):
        raise _deadlock(places, region, list(running.values()))


def _is_used_up(ports: list[tuple[Fifo, bool]]) -> bool:
    """Whether the outside has no word left for a stream, or takes none any more."""
    return any(len(fifo.items) >= fifo.depth if fills else not fifo.items for fifo, fills in ports)


class _Stalled:
    """Whether a region makes progress though its processes try in vain."""

    def __init__(self) -> None:
        self.tries = 0
        self._fifos: set[Fifo] = set()
        self._moved = -1

    def after(self, fifo: Fifo) -> bool:
        """Note a try of a FIFO; whether nothing has passed for very many of them."""
        self._fifos.add(fifo)
        self.tries += 1
        if self.tries % LOOK:
            return False
        moved = sum(one.moved for one in self._fifos)
        if moved != self._moved:
            self.tries, self._moved = 0, moved
        return self.tries >= MOST_TRIES


def _deadlock(
    places: list[SourcePlace], region: str, waiting: list[Process], *, tries: bool = False
) -> DeadlockError:
    notes = []
    for process in waiting:
        if process.wait is None:
            continue
        fifo, action, place = process.wait
        verb, action = ("tries" if action.startswith("try") else "waits"), action[-3:]
        text = (
            f"{process.name} {verb} to {action} {'to' if action == 'put' else 'from'} "
            f"{fifo.name}, which holds {len(fifo.items)} of {fifo.depth}"
        )
        notes.append((text, places[place]))
    if tries:
        return DeadlockError(
            f"The region {region} makes no progress: {len(waiting)} of its processes have not "
            "finished, and for very many tries nothing has passed through a FIFO.",
            notes[0][1] if notes else None,
            notes=tuple(notes),
            help="end a loop that tries after a number of tries, or tell it by a stream to stop.",
        )
    return DeadlockError(
        f"The region {region} cannot go on: {len(waiting)} of its processes wait for each other.",
        notes[0][1] if notes else None,
        notes=tuple(notes),
        help="make as many puts as gets for each FIFO, and the FIFOs of a cycle deep enough.",
    )


def stacked(parts: list[Any], shape: tuple[int, ...]) -> Array:
    """Elements or blocks on a new leading axis."""
    data: list[Any] = []
    for part in parts:
        data += part.elements() if isinstance(part, Array) else [part]
    return Array(data, shape)
