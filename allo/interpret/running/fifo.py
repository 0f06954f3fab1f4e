"""FIFOs and the processes of a region at work: each process is a Python generator."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any

from allo.dialects.diagnostics import DeadlockError, SourcePlace

from .arrays import Array

Wait = tuple["Fifo", str, int]
"""What a process waits for: a FIFO, ``put`` or ``get``, and the number of the place."""


class Fifo:
    """A FIFO of exactly its depth.

    Attributes:
        name: the user's name, with indices.
        depth: how many elements it holds.
        items: what it holds, oldest first.
        waiting: the process that waits for it to change, if any.
        ready: where a process that may go on is put.
    """

    __slots__ = ("depth", "items", "name", "ready", "waiting")

    def __init__(self, name: str, depth: int) -> None:
        self.name = name
        self.depth = depth
        self.items: deque[Any] = deque()
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

    def _wake(self) -> None:
        if self.waiting is not None and self.ready is not None:
            self.ready.append(self.waiting)
            self.waiting = None


class Process:
    """One instance of a kernel.

    Attributes:
        name: as the core IR names it: ``kernel_0_1``.
        run: the generator of its steps.
        wait: what it waits for.
    """

    __slots__ = ("name", "run", "wait")

    def __init__(self, name: str, run: Generator[Wait, None, None]) -> None:
        self.name = name
        self.run = run
        self.wait: Wait | None = None


def run_processes(
    places: list[SourcePlace], region: str, runs: list[tuple[str, Generator[Wait, None, None]]]
) -> None:
    """Run the processes of a region until all have ended.

    They take turns in the order in which they are written, and change only when one has to wait.

    Raises:
        DeadlockError: when none can go on; every waiting process is listed.
    """
    processes = [Process(name, run) for name, run in runs]
    ready = deque(processes)
    running: dict[str, Process] = {process.name: process for process in processes}
    while ready:
        process = ready.popleft()
        process.wait = next(process.run, None)
        if process.wait is None:
            del running[process.name]
            continue
        fifo = process.wait[0]
        fifo.waiting, fifo.ready = process, ready
    if running:
        raise _deadlock(places, region, list(running.values()))


def _deadlock(places: list[SourcePlace], region: str, waiting: list[Process]) -> DeadlockError:
    notes = []
    for process in waiting:
        if process.wait is None:
            continue
        fifo, action, place = process.wait
        text = (
            f"{process.name} waits to {action} {'to' if action == 'put' else 'from'} "
            f"{fifo.name}, which holds {len(fifo.items)} of {fifo.depth}"
        )
        notes.append((text, places[place]))
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
