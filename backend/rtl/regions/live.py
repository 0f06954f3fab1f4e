"""Processes followed while the engine runs: what a stream shows in a cycle decides what they do next.

A process that asks a stream without waiting is followed up to its question. The engine comes back when it has
asked, in the cycle in which the hardware does, and the process is followed further with the answer. Words
that decide pass as they do elsewhere: who waits for one is followed when it is given.
"""

from __future__ import annotations

from .build import Build
from .follow.instances import Nested, Process
from .follow.tracer import CHUNK, Hand, Queue
from .native import Status
from .refusal import Unforeseen
from .standstill import Standstill

MOST_ANSWERS = 1 << 20
"""Questions of a run that is foretold."""


class Live:
    """One run of a design, all of whose processes have begun."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self._engine = build.engine
        self._processes = {process.entity: process for process in build.processes}
        self._waiting: dict[int, Process] = {}
        self._grown: dict[int, Process] = {}
        self._kinds: dict[int, int] = {}
        self._answers = 0
        self._still = Standstill(build.engine, build.processes)
        self._over = False

    def run(self, limit: int, events: int) -> Status:
        """Follow it to its end.

        Raises:
            Unforeseen: it asks more often than is followed.
        """
        for process in self._build.processes:
            self._kinds[process.entity] = 0
            self._go(process)
        self._ready()
        self._build.finish()
        self._grown.clear()
        status = self._engine.run(self._build.top_entity, limit, events)
        while status in (Status.HUNGRY, Status.DEADLOCK) and not self._over:
            if status is Status.HUNGRY:
                self._go(self._processes[self._engine.hungry()], fed=False)
                self._ready()
            elif not self._give_up():
                break
            self._feed()
            status = self._engine.resume()
        return Status.DEADLOCK if self._over else status

    def _ready(self) -> None:
        """Follow processes whose words, or the ends of whose callees, have come."""
        while ready := [p for p in self._waiting.values() if _is_there(p)]:
            for process in ready:
                self._go(process)

    def _go(self, process: Process, *, fed: bool = True) -> None:
        """Follow a process as far as it goes; ``fed``: the engine has not come to the end of its trace."""
        self._waiting.pop(process.entity, None)
        process.tracer.cut()
        while process.life is not None and not process.over:
            if isinstance(process.awaits, Hand):
                if fed:
                    return
                self._answer(process)
                fed = True
            elif process.awaits is not None and not self._comes(process.awaits):
                self._waiting[process.entity] = process
                return
            if process.tracer.full:
                if fed and process.endless:
                    return
                process.tracer.go_on(CHUNK)
                fed = True
            process.step()
            self._grown[process.entity] = process
            if isinstance(process.awaits, Nested):
                for member in process.awaits.processes:
                    self._go(member)

    def _answer(self, process: Process) -> None:
        self._answers += 1
        if self._answers > MOST_ANSWERS:
            raise Unforeseen("its processes ask streams more often than is followed")
        process.tracer.answer = self._engine.answer(process.entity)
        self._over = self._still.asked(process)

    def _comes(self, queue: Queue | Nested) -> bool:
        """Whether what is waited for is there; one that never ends is followed until it gives a word."""
        if isinstance(queue, Nested):
            return queue.over
        giver = queue.producer
        while not queue and giver is not None and giver.endless and giver.awaits is None:
            size = giver.tracer.size
            self._go(giver, fed=False)
            if giver.tracer.size == size:
                break
        return bool(queue)

    def _feed(self) -> None:
        """Give the engine what has been followed."""
        for entity, process in self._grown.items():
            if process.tracer.kinds > self._kinds[entity]:
                self._kinds[entity] = process.tracer.kinds
                self._engine.set_variants(entity, *process.tracer.variants())
            self._engine.feed_more(entity, process.tracer.numbers)
        self._grown.clear()

    def _give_up(self) -> bool:
        """Let those that wait for a word which never comes say so; whether there are any."""
        waiting = [p for p in self._waiting.values() if isinstance(p.awaits, Queue)]
        for process in waiting:
            process.give_up()
            self._grown[process.entity] = process
        self._waiting.clear()
        return bool(waiting)


def _is_there(process: Process) -> bool:
    """Whether what a process waits for is there."""
    awaits = process.awaits
    return awaits.over if isinstance(awaits, Nested) else bool(awaits)


def refuse_turns(regions: list[Nested]) -> None:
    """Refuse regions whose members run one after the other.

    Raises:
        Unforeseen: there is one.
    """
    for region in regions:
        if region.graph.turns is not None or any(m.after for m, _ in region.members):
            place = region.module.function.place
            raise Unforeseen("one that asks streams runs behind or beside one in turns", place)
