"""The compiled models of buses: C++ of ours, compiled once on a machine."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from allo.dialects.caches.files import cached, content_key
from allo.dialects.processes.shared_library import load_shared

from ..engines.verilator.tools import compiler_version, find_compiler, run

SOURCES = Path(__file__).resolve().parent / "cpp"
_FILES = ("interface.cpp", "host.hpp", "memory.hpp", "sim.hpp", "stream.hpp")
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared")
_SECONDS = 120.0

_POINTER, _TEXT, _NUMBER, _WORD = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "new": (_POINTER, (_POINTER, _POINTER, _POINTER, _POINTER, _NUMBER)),
    "delete": (None, (_POINTER,)),
    "wire": (None, (_POINTER, _TEXT, _POINTER, ctypes.c_uint32)),
    "memory": (
        None,
        (_POINTER, _TEXT, ctypes.c_uint32, ctypes.c_uint32, _NUMBER, _NUMBER, _NUMBER, _NUMBER),
    ),
    "pace": (None, (_POINTER, _TEXT, _WORD, _WORD, _WORD, _WORD)),
    "break": (None, (_POINTER, _TEXT, _NUMBER)),
    "host": (None, (_POINTER, _TEXT)),
    "pins": (None, (_POINTER,)),
    "stream": (None, (_POINTER, _TEXT, _NUMBER, _WORD)),
    "ram": (None, (_POINTER, _TEXT, _NUMBER, _NUMBER)),
    "clear": (None, (_POINTER,)),
    "region": (None, (_POINTER, _TEXT, _WORD, _WORD, _POINTER, _NUMBER, _NUMBER)),
    "dram": (None, (_POINTER, _POINTER, _POINTER, _POINTER, _WORD, _WORD, _WORD)),
    "words": (None, (_POINTER, _TEXT, _POINTER, _WORD, _WORD, _NUMBER)),
    "bank": (None, (_POINTER, _TEXT, _POINTER, _WORD, _WORD, _WORD)),
    "script": (None, (_POINTER, _TEXT, _POINTER, _WORD)),
    "answer": (_WORD, (_POINTER, _TEXT, _WORD)),
    "put": (None, (_POINTER, _TEXT, _TEXT)),
    "get": (None, (_POINTER, _TEXT, _TEXT)),
    "reset": (None, (_POINTER,)),
    "begin": (None, (_POINTER, _WORD, _WORD)),
    "step": (_NUMBER, (_POINTER, _WORD)),
    "cycle": (_WORD, (_POINTER,)),
    "measured": (_WORD, (_POINTER,)),
    "moved": (_WORD, (_POINTER,)),
    "passed": (_WORD, (_POINTER, _TEXT)),
    "bytes": (_WORD, (_POINTER, _TEXT, _NUMBER)),
    "fault": (_TEXT, (_POINTER,)),
}


def compiled(name: str, sources: Path, files: Sequence[str]) -> ctypes.CDLL:
    """A library of ours in C++, from the cache; ``files[0]`` includes the others.

    Raises:
        ToolMissingError: it must be compiled, and there is no C++ compiler.
        ToolFailedError: the compiler fails.
    """
    compiler, library = find_compiler(), f"{name}.so"
    key = content_key(*(sources / file for file in files), *_FLAGS, compiler_version(compiler))

    def make(building: Path) -> None:
        target = str(building / library)
        run([str(compiler), *_FLAGS, "-o", target, str(sources / files[0])], _SECONDS)

    return load_shared(cached((name,), key, [library], make) / library)


@functools.cache
def bus_library() -> ctypes.CDLL:
    """The library, its functions typed (``allo_bus_…``).

    Raises:
        ToolMissingError: it must be compiled, and there is no C++ compiler.
        ToolFailedError: the compiler fails.
    """
    library = compiled("buses", SOURCES, _FILES)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, f"allo_bus_{name}")
        function.restype, function.argtypes = result, arguments
    return library


class Buses:
    """The models around one instance of a design.

    Args:
        settle, edge, reset: addresses of the functions that evaluate it with a low clock, a risen
            one, and one that rises in reset.
        handle: what they are given.
        packed: whether they are MLIR's packed functions.
    """

    def __init__(self, settle: int, edge: int, reset: int, handle: int, *, packed: bool) -> None:
        self._library = bus_library()
        self._sim = self._library.allo_bus_new(settle, edge, reset, handle, packed)

    def __call__(self, function: str, *arguments: Any) -> Any:
        """Call ``allo_bus_<function>`` for these models; texts may be given as ``str``."""
        coded = [a.encode() if isinstance(a, str) else a for a in arguments]
        return getattr(self._library, f"allo_bus_{function}")(self._sim, *coded)

    def close(self) -> None:
        """Free the models; closing them again does nothing."""
        if self._sim:
            self._library.allo_bus_delete(self._sim)
            self._sim = None
