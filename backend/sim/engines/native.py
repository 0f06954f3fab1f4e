"""Compile text in MLIR's llvm dialect in process and call it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from allo.dialects._mlir import ir, make_llvm_context
from allo.dialects.diagnostics import BuildError
from allo.dialects.processes.engine import Engine

_PACKED = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class NativeModule:
    """Functions compiled in process, each ``void (ptr)``."""

    def __init__(self, text: str, opt_level: int = 2) -> None:
        self._engine = Engine(ir.Module.parse(text, make_llvm_context()), opt_level)

    def function(self, name: str) -> NativeFunction:
        """The function ``name``; it lives as long as this module.

        Raises:
            BuildError: the code calls a function that is not there.
        """
        return NativeFunction(_PACKED(self.address(name)), self._engine)

    def address(self, name: str) -> int:
        """The address of the packed form (``void (void **)``) of a function; raises as :meth:`function`."""
        address = self._engine.lookup(name)
        if not address:
            raise BuildError(
                "The simulation model could not be linked: a function it calls is missing.",
                help="the missing symbols are on standard error; libgcc_s.so.1 must be installed.",
            )
        return address


class NativeFunction:
    """A compiled ``void (ptr)``, called with an address."""

    def __init__(self, function: Callable[[int], None], owner: object) -> None:
        self._function = function
        self._owner = owner

    def __call__(self, address: int) -> None:
        argument = ctypes.c_void_p(address)
        packed = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
        self._function(ctypes.addressof(packed))
