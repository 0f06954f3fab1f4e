"""Native work Python cannot interrupt, done in a thread while the main one waits for it or for Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run_aside[T](work: Callable[[], T], stop: Callable[[], object] | None = None) -> T:
    """What ``work`` returns. In the main thread, Ctrl-C is served at once while it runs.

    Args:
        work: should let go of Python's lock, as a call through ctypes does.
        stop: makes ``work`` end soon; it is waited for. Without, work goes on unheeded in its thread
            when Ctrl-C ends the waiting, and its result is dropped: what it uses must belong to
            nobody else.

    Raises:
        BaseException: what ``work`` raises; ``KeyboardInterrupt`` in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: list[T] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def body() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=body, name="allo-native", daemon=True).start()
    try:
        done.wait()
    except BaseException:
        if stop is not None:
            stop()
            done.wait()
        raise
    if failure:
        raise failure[0]
    return outcome[0]
