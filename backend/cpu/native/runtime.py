"""The native runtime: found or built once, and driven call by call."""

from __future__ import annotations

import ctypes
import enum
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from allo.dialects.diagnostics import BuildError, SimulationError
from allo.dialects.fibers import GROWTHS, MOST_GROWN, Growth, ProcessRecord
from allo.dialects.processes.native_libraries import compiled, load_library

from .interrupt import Guarded

_ABI = 3
_SOURCES = ("fiber.cpp", "simulator.cpp", "interface.cpp")
_HEADERS = ("fiber.hpp", "simulator.hpp")
_LIBRARY = "liballo_runtime.so"
_WHAT = "the runtime of the dataflow simulator"

_GENERATED_CODE_CALLS = (
    "allo_region_begin",
    "allo_region_join",
    "allo_fifos_new",
    "allo_fifo_at",
    "allo_spawn_all",
    "allo_put_wait",
    "allo_get_wait",
    "allo_turn",
    "allo_has_room",
    "allo_has_element",
    "allo_may_put",
    "allo_may_get",
    "allo_event",
)


class Status(enum.IntEnum):
    """Why a run came back to Python."""

    DONE = 0
    DEADLOCK = 1
    EVENT = 2
    NO_MEMORY = 3


@functools.cache
def load_runtime(*defines: str) -> Runtime:
    """The runtime, compiled on first use on this machine.

    Args:
        defines: preprocessor definitions; with any, a prebuilt library is not considered.

    Raises:
        ToolMissingError: when it must be compiled and there is no C++ compiler.
        ToolFailedError: when the compiler fails.
    """
    return Runtime(load_library(_LIBRARY, _SOURCES, _HEADERS, _WHAT, _is_current, defines))


def _compiled(defines: Sequence[str]) -> Path:
    return compiled(_LIBRARY, _SOURCES, _HEADERS, _WHAT, defines)


def _is_current(library: ctypes.CDLL) -> bool:
    """Whether a library is of this version: a prebuilt one may be left from an older."""
    if not all(hasattr(library, name) for name in ("allo_runtime_abi", *_GENERATED_CODE_CALLS)):
        return False
    return bool(library.allo_runtime_abi() == _ABI)


class Runtime:
    """A loaded runtime library.

    Attributes:
        symbols: addresses of the functions generated code calls.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        if not _is_current(library):
            raise BuildError("The simulator's runtime library is of another version of Allo.")
        pointer, word = ctypes.c_void_p, ctypes.c_int64
        self._library = library
        self._new = _declare(library.allo_run_new, pointer, pointer, pointer)
        self._resume = ctypes.cast(library.allo_run_resume, pointer).value or 0
        self._port = _declare(library.allo_run_port, None, pointer, pointer, word)
        self._event = _declare(library.allo_run_event, word, pointer, ctypes.POINTER(pointer))
        self._processes = _declare(
            library.allo_run_processes, word, pointer, ctypes.POINTER(ProcessRecord), word
        )
        self._grow = _declare(library.allo_run_grow, word, pointer, word, pointer, word)
        self._free = _declare(library.allo_run_free, None, pointer)
        self.symbols = {
            name: ctypes.cast(getattr(library, name), pointer).value or 0
            for name in _GENERATED_CODE_CALLS
        }

    def run(
        self,
        entry: int,
        arguments: int,
        guarded: Guarded,
        on_event: Callable[[int, int], None],
        on_deadlock: Callable[[list[ProcessRecord], Callable[[], Growth]], Exception],
        ports: Sequence[tuple[int, bool]] = (),
    ) -> None:
        """Run an entry function to its end.

        Args:
            entry: address of a ``void (void **)``.
            arguments: address of its packed arguments (see :mod:`allo.backend.cpu.calling`).
            guarded: makes the calls of the entry's machine code.
            on_event: called with the number of an event and the address of its data.
            on_deadlock: makes the exception for a deadlock from the processes there are, and from what tells
                what deeper FIFOs would do.
            ports: addresses of FIFOs whose other end is outside, and whether the run puts into them.
        """
        handle = self._new(entry, arguments)
        if not handle:
            raise MemoryError("The dataflow simulator has no memory left.")
        for address, fills in ports:
            self._port(handle, address, int(fills))
        try:
            self._drive(handle, guarded, on_event, on_deadlock)
        finally:
            self._free(handle)

    def _drive(
        self,
        handle: int,
        guarded: Guarded,
        on_event: Callable[[int, int], None],
        on_deadlock: Callable[[list[ProcessRecord], Callable[[], Growth]], Exception],
    ) -> None:
        while True:
            status = Status(guarded.call(self._resume, handle))
            if status is Status.DONE:
                return
            if status is Status.DEADLOCK:
                raise on_deadlock(self._records(handle), lambda: self._growth(handle))
            if status is Status.NO_MEMORY:
                raise SimulationError(
                    "The simulator has no memory left for stacks and FIFOs.",
                    help="make the FIFOs smaller, or run fewer processes: each takes 256 KiB of "
                    "address space.",
                )
            data = ctypes.c_void_p()
            event = self._event(handle, ctypes.byref(data))
            on_event(event, data.value or 0)

    def _growth(self, handle: int) -> Growth:
        """What becomes of a deadlocked run whose FIFOs grow; its arrays and variables change on."""
        room = 2 * MOST_GROWN + 1
        out = (ctypes.c_int64 * room)()
        count = self._grow(handle, GROWTHS, ctypes.cast(out, ctypes.c_void_p), room)
        return Growth.read(out[:count], self._records(handle))

    def _records(self, handle: int) -> list[ProcessRecord]:
        count = self._processes(handle, None, 0)
        records = (ProcessRecord * count)()
        self._processes(handle, records, count)
        return list(records)


def _declare(function: Any, result: Any, *arguments: Any) -> Any:
    function.restype = result
    function.argtypes = list(arguments)
    return function
