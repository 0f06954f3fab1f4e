"""A shared library of many programs, seen as that of one."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

_ENTRY = re.compile(r'extern "C" [^()]*?(\w+)\(')


def with_numbered_entries(text: str, number: int) -> str:
    """C++ whose functions with C linkage have a number behind their names."""
    for name in set(_ENTRY.findall(text)):
        text = re.sub(rf"\b{name}\b", f"{name}_{number}", text)
    return text


class Numbered:
    """The functions of one program: ``allo_entry`` is ``allo_entry_<number>``; some all programs share.

    It holds a reference to the library of its own, which may be closed.
    """

    def __init__(self, path: Path, number: int) -> None:
        self._library = ctypes.CDLL(str(path))
        self._handle = self._library._handle
        self._number = number

    def __getattr__(self, name: str) -> Any:
        own = f"{name}_{self._number}"
        found = getattr(self._library, own if hasattr(self._library, own) else name)
        setattr(self, name, found)
        return found
