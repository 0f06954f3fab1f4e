"""The time of a search, and a limit for one step of it: what takes too long is interrupted, as by Ctrl-C."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SHARE, ALONE, LEAST = 0.5, 0.8, 3.0
"""Of the time that is left, what one report may take of it, and while there are pipelines alone; and at least
so many seconds, or as many times what the first report took."""
CHECKED, OF_REPORT = 2.0, 0.1
"""What is kept for the check at the end: so many times what the kernel's own runs took, or that share of the
longest report, for larger designs take longer on the CPU, too."""
TICK = 0.1
"""Seconds between two looks at the time."""


@dataclass(slots=True)
class Clock:
    """What a search has of its time, all of it counted by ``timer``.

    Attributes:
        latest, first, longest: what the last report took, the first one, and the longest.
        kernel: what the kernel's own runs took.
        solved: what the solver took last, which it takes once more for the bound.
    """

    seconds: float
    timer: Callable[[], float]
    began: float = field(init=False)
    latest: float = 0.0
    first: float = 0.0
    longest: float = 0.0
    kernel: float = 0.0
    solved: float = 0.0

    def __post_init__(self) -> None:
        """The time goes from here."""
        self.began = self.timer()

    def reported(self, seconds: float) -> None:
        """A report took so long."""
        self.latest, self.first = seconds, self.first or seconds
        self.longest = max(self.longest, seconds)

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return self.timer() - self.began

    @property
    def rest(self) -> float:
        """Seconds until the check at the end has to begin."""
        kept = max(CHECKED * self.kernel, OF_REPORT * self.longest)
        return self.seconds - self.elapsed - kept

    @property
    def left(self) -> float:
        """Seconds in which another report can still be made."""
        return self.rest - self.latest - self.solved

    def most(self, *, within: bool) -> float:
        """Seconds that the next report may take; ``within``: no more than there are, however few."""
        share = SHARE if within else ALONE
        most = max(LEAST, LEAST * self.first, share * (self.seconds - self.elapsed))
        return max(0.0, min(most, self.rest)) if within else most


class Overdue(BaseException):
    """Raised in what takes too long; no ``except Exception`` of it catches this."""


@contextmanager
def deadline(seconds: float, timer: Callable[[], float]) -> Iterator[None]:
    """Interrupt the Python code of the block, in whatever thread, where it takes longer.

    Args:
        timer: what counts the seconds.

    Raises:
        Overdue: it took longer.
    """
    watch = _Watch(threading.get_ident(), timer() + seconds, timer)
    watch.start()
    try:
        yield
    finally:
        watch.end()


class _Watch:
    """Looks at the time beside the block."""

    def __init__(self, thread: int, end: float, timer: Callable[[], float]) -> None:
        self._thread = ctypes.c_ulong(thread)
        self._end = end
        self._timer = timer
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._raised = False
        self._watcher = threading.Thread(target=self._look, daemon=True)

    def start(self) -> None:
        self._watcher.start()

    def end(self) -> None:
        """The block has ended: nothing is raised behind it."""
        with self._lock:
            self._over.set()
            if self._raised:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread, None)

    def _look(self) -> None:
        while not self._over.wait(TICK):
            if self._timer() < self._end:
                continue
            with self._lock:
                if not self._over.is_set():
                    self._raised = True
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        self._thread, ctypes.py_object(Overdue)
                    )
            return
