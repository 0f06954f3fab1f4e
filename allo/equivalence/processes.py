"""Processes of a dataflow region, followed side by side on streams of unlimited depth.

What a process network computes does not depend on the order its processes run in, so one order
tells all. Each process has a thread, and exactly one of them runs at a time: it hands on when it
waits for an element or has finished.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any


class Processes:
    """The processes of one region."""

    def __init__(self, bodies: list[tuple[Callable[[], Any], bool]]) -> None:
        """Of each what it runs, and whether that never ends."""
        self._processes = [_Process(body, endless) for body, endless in bodies]

    def run(self) -> None:
        """Run all to their ends, and those that have none until then.

        A process that waits while nobody can go on gets False from :meth:`wait`, and its error is
        raised here.
        """
        waiting = deque(self._processes)
        idle = 0
        stuck = False
        while not all(process.endless for process in waiting):
            process = waiting.popleft()
            moved = process.resume(stuck)
            if process.error is not None:
                self._abandon()
                raise process.error
            if not process.finished:
                waiting.append(process)
            idle = 0 if moved or process.finished else idle + 1
            stuck = idle > len(waiting)
        self._abandon()

    def turn(self) -> None:
        """Let the others go on as far as they can."""
        answers = iter((False,))
        self.wait(lambda: next(answers, True))

    def wait(self, ready: Callable[[], Any]) -> bool:
        """Hand on until ``ready()`` holds; False when nobody can make it hold."""
        process = next((p for p in self._processes if p.is_current), None)
        return process is not None and process.wait(ready)

    def _abandon(self) -> None:
        for process in self._processes:
            process.abandon()


class _Abandoned(BaseException):
    """Ends the thread of a process whose region has failed."""


class _Process:
    def __init__(self, body: Callable[[], Any], endless: bool) -> None:
        self.endless = endless
        self.error: BaseException | None = None
        self.finished = False
        self._body = body
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._stuck = False
        self._abandoned = False
        self._ready: Callable[[], Any] | None = None
        self._thread = threading.Thread(target=self._main, daemon=True)

    @property
    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    def resume(self, stuck: bool) -> bool:
        """Let it run until it waits or ends; whether it could."""
        if self._ready is not None and not self._ready() and not stuck:
            return False
        self._stuck = stuck
        if self._thread.ident is None:
            self._thread.start()
        self._go.release()
        self._back.acquire()
        return True

    def wait(self, ready: Callable[[], Any]) -> bool:
        while not ready():
            self._ready = ready
            self._back.release()
            self._go.acquire()
            if self._abandoned:
                raise _Abandoned
            if self._stuck and not ready():
                return False
        self._ready = None
        return True

    def abandon(self) -> None:
        if self._thread.ident is None or self.finished:
            return
        self._abandoned = True
        self._go.release()
        self._thread.join()

    def _main(self) -> None:
        self._go.acquire()
        try:
            self._body()
        except _Abandoned:
            pass
        except BaseException as error:  # handed to the thread that runs the region
            self.error = error
        self.finished = True
        self._back.release()
