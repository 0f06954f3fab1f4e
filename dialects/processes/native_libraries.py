"""Native libraries of ours: taken from beside their sources, or compiled once on this machine."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ..caches.files import cached, content_key
from .cpp_compiler import compile_shared, find_compiler
from .shared_library import load_shared

SOURCES = Path(__file__).resolve().parents[2] / "backend" / "runtime"
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared")


def load_library(
    name: str,
    sources: Sequence[str],
    headers: Sequence[str],
    what: str,
    is_current: Callable[[ctypes.CDLL], bool],
    defines: Sequence[str] = (),
) -> ctypes.CDLL:
    """A library of ours, compiled on first use on this machine.

    Args:
        name: of its file.
        sources, headers: files of ``backend/runtime``.
        what: what it is, for messages.
        is_current: whether a library is of this version: a prebuilt one may be left from an older.
        defines: preprocessor definitions; with any, a prebuilt library is not considered.

    Raises:
        ToolMissingError: when it must be compiled and there is no C++ compiler.
        ToolFailedError: when the compiler fails.
    """
    prebuilt = SOURCES / name
    if not defines and prebuilt.exists():
        library = ctypes.CDLL(str(prebuilt))
        if is_current(library):
            return library
    return load_shared(compiled(name, sources, headers, what, defines))


def compiled(
    name: str, sources: Sequence[str], headers: Sequence[str], what: str, defines: Sequence[str]
) -> Path:
    """The library compiled here, now or before; raises as :func:`load_library` does."""
    files = [SOURCES / file for file in (*sources, *headers)]
    key = content_key(*files, *_FLAGS, *defines, os.uname().machine)

    def make(building: Path) -> None:
        unit = building / f"{name}.cpp"  # one, as most of the time goes into the headers they share
        unit.write_text("".join(f'#include "{source}"\n' for source in sources))
        flags = [*_FLAGS, f"-I{SOURCES}", *(f"-D{define}" for define in defines)]
        compile_shared([find_compiler(what), *flags], [unit], building / name, what)

    return cached(("runtime",), key, [name], make) / name
