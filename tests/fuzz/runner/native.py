"""A shared library of many programs, seen as that of one."""

from __future__ import annotations

import ctypes
from typing import Any


class Renamed:
    """The functions of one program: ``allo_entry`` is ``allo_entry_<number>``."""

    def __init__(self, library: ctypes.CDLL, number: int, names: tuple[str, ...]) -> None:
        for name in names:
            setattr(self, name, getattr(library, f"{name}_{number}"))
        self._keep: Any = library
