"""A time limit for one step of a search: what takes too long is interrupted, as by Ctrl-C."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TICK = 0.1
"""Seconds between two looks at the time."""


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
