"""Compile text in MLIR's llvm dialect in process and call it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from allo.dialects._mlir import ir, make_context
from allo.dialects.engine import Engine

_PACKED = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class NativeModule:
    """Functions compiled in process, each ``void (ptr)``."""

    def __init__(self, text: str, opt_level: int = 2) -> None:
        self._engine = Engine(ir.Module.parse(text, make_context()), opt_level)

    def function(self, name: str) -> NativeFunction:
        """The function ``name``; it lives as long as this module."""
        return NativeFunction(_PACKED(self._engine.lookup(name)), self._engine)


class NativeFunction:
    """A compiled ``void (ptr)``, called with an address."""

    def __init__(self, function: Callable[[int], None], owner: object) -> None:
        self._function = function
        self._owner = owner

    def __call__(self, address: int) -> None:
        argument = ctypes.c_void_p(address)
        packed = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
        self._function(ctypes.addressof(packed))
