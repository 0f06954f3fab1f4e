"""Runs that never end because processes ask in vain for ever, as no word passes any more.

While no word passes, every question has the answer that it had, so what a process does depends on its own
values. Where these come back, it asks for ever. If that holds of all processes that ask, and all others wait
for words or for room, nothing happens any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import GeneratorType
from typing import Any

from .follow.instances import Process
from .follow.tracer import Hand
from .native import BEHIND, CALLS, OVER, Engine

PATIENCE = 1 << 12
"""Questions after which a run in which no word has passed is looked at."""
PERIOD = 64
"""Questions in which the values of a process come back."""


class Standstill:
    """Watches the questions of a run."""

    def __init__(self, engine: Engine, processes: Sequence[Process]) -> None:
        self._engine = engine
        self._processes = processes
        self._moves = -1
        self._asked = 0
        self._patience = PATIENCE
        self._asking: set[Process] = set()
        self._known: dict[Process, tuple[Any, ...]] = {}
        self._back: set[Process] = set()

    def asked(self, process: Process) -> bool:
        """Count a question; whether all processes do the same for ever."""
        self._asked += 1
        if self._asked < self._patience:
            return False
        if self._asked == self._patience and not self._rests():
            self._asked = 0
            return False
        if self._engine.moves != self._moves or self._asked > self._patience + self._most:
            self._asked, self._patience = 0, 2 * self._patience
            return False
        now = tuple(_values(process.life))
        if process not in self._known:
            self._known[process] = now
        elif self._known[process] == now:
            self._back.add(process)
        return self._back >= self._asking

    @property
    def _most(self) -> int:
        return PERIOD * len(self._asking)

    def _rests(self) -> bool:
        """Whether no word has passed for long, and all processes that do not ask wait for words or room."""
        before, self._moves = self._moves, self._engine.moves
        self._asking = {p for p in self._processes if isinstance(p.awaits, Hand)}
        self._known.clear()
        self._back.clear()
        _, waits = self._engine.stalls()
        rest = all(
            waits[p.number] >= 0 or waits[p.number] in (CALLS, OVER, BEHIND)
            for p in self._processes
            if p not in self._asking
        )
        return rest and before == self._moves


def _values(life: Any) -> Iterator[tuple[Any, ...]]:
    """What a process does next depends on these, and on answers."""
    while isinstance(life, GeneratorType):
        frame = life.gi_frame
        held = frame.f_locals if frame is not None else {}
        numbers = [(k, v) for k, v in held.items() if k != "K" and isinstance(v, int | range)]
        memories = [tuple(words) for words in held.get("M", {}).values()]
        yield tuple(numbers), tuple(memories)
        life = life.gi_yieldfrom
