"""Calls of generated code that Ctrl-C ends.

A call from the main thread, with Python's own handler of SIGINT in place, is made through
``backend/runtime/interrupt.cpp``: the signal leaves the call at once, wherever generated code
stands, and ``KeyboardInterrupt`` is raised. Other threads get no signals in Python, and another
handler may not want the call to end: there calls are made as they are.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import logging
import signal
import threading
from collections.abc import Callable, Iterable

from allo.dialects.diagnostics import ToolFailedError, ToolMissingError
from allo.dialects.processes.native_libraries import load_library

_ABI = 1
_MAPS = "/proc/self/maps"
log = logging.getLogger(__name__)


class Guarded:
    """Makes calls of one module's machine code.

    Args:
        addresses: of functions of the module and of what it calls that may be left in the middle;
            all code mapped together with one of them counts. With none, calls are made as they are.
    """

    def __init__(self, addresses: Iterable[int]) -> None:
        self._addresses = tuple(addresses)
        self._ranges: ctypes.Array[ctypes.c_uint64] | None = None
        self._plain: dict[int, Callable[[int], int]] = {}

    @property
    def is_needed(self) -> bool:
        """Whether calls may have to be left."""
        return bool(self._addresses)

    def plain(self, function: int) -> Callable[[int], int]:
        """The ``int64_t (void *)`` at an address, called as it is."""
        made = self._plain.get(function)
        if made is None:
            made = self._plain[function] = _PLAIN(function)
        return made

    def call(self, function: int, argument: int) -> int:
        """Call the ``int64_t (void *)`` at an address.

        Raises:
            KeyboardInterrupt: Ctrl-C ended the call. What it had written stays written; memory
                that the code had taken from the heap is not given back.
        """
        enter = _library() if self._addresses and _may_be_interrupted() else None
        if enter is None:
            return self.plain(function)(argument)
        if self._ranges is None:
            self._ranges = _ranges_of(self._addresses)
        result = ctypes.c_int64()
        left = enter(function, argument, self._ranges, len(self._ranges) // 2, ctypes.byref(result))
        if left:
            _serve_signals()
            raise KeyboardInterrupt
        return result.value


# What ``signal.getsignal`` asks before it looks for a name of the answer in an enumeration, by way of
# an exception where it has none: that takes as long as the rest of a call.
_handler_of: Callable[[int], object] = importlib.import_module("_signal").getsignal
_SIGINT = int(signal.SIGINT)
_PLAIN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


def _may_be_interrupted() -> bool:
    return (
        threading.current_thread() is threading.main_thread()
        and _handler_of(_SIGINT) is signal.default_int_handler
    )


def _serve_signals() -> None:
    """Python looks for signals when a function begins: the one noted raises its exception here."""


@functools.cache
def _library() -> Callable[..., int] | None:
    """The function that makes calls, or None where it cannot be had: Ctrl-C then waits for calls."""
    try:
        library = load_library(
            "liballo_interrupt.so",
            ["interrupt.cpp"],
            [],
            "what serves Ctrl-C in calls",
            _is_current,
        )
    except (ToolMissingError, ToolFailedError) as error:
        log.warning("Ctrl-C is served only when a call of a kernel ends: %s", error.message)
        return None
    enter = library.allo_interruptible
    enter.restype = ctypes.c_int64
    pointer = ctypes.c_void_p
    enter.argtypes = [
        pointer,
        pointer,
        ctypes.POINTER(ctypes.c_uint64),
        ctypes.c_int64,
        ctypes.POINTER(ctypes.c_int64),
    ]
    return enter


def _is_current(library: ctypes.CDLL) -> bool:
    return hasattr(library, "allo_interrupt_abi") and library.allo_interrupt_abi() == _ABI


def _ranges_of(addresses: tuple[int, ...]) -> ctypes.Array[ctypes.c_uint64]:
    """First and last-plus-one address of the mappings that hold the functions."""
    found: set[tuple[int, int]] = set()
    try:
        with open(_MAPS) as maps:
            for line in maps:
                low, high = (int(end, 16) for end in line.split(" ", 1)[0].split("-"))
                if any(low <= address < high for address in addresses):
                    found.add((low, high))
    except OSError:
        log.warning("Ctrl-C is served only when a call of a kernel ends: no %s.", _MAPS)
    words = [end for pair in sorted(found) for end in pair]
    return (ctypes.c_uint64 * len(words))(*words)
