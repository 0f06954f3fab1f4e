"""Machine code from the LLVM dialect, and calls into it."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping

import numpy as np

from allo.dialects._mlir import ExecutionEngine, ir
from allo.dialects.diagnostics import BuildError

from .lower import ENTRY

_GCC_HELPERS = (
    "__divti3",
    "__udivti3",
    "__modti3",
    "__umodti3",
    "__multi3",
    "__floattisf",
    "__floattidf",
    "__floatuntisf",
    "__floatuntidf",
    "__fixsfti",
    "__fixdfti",
    "__fixunssfti",
    "__fixunsdfti",
    "__extendhfsf2",
    "__truncsfhf2",
    "__truncdfhf2",
    "__truncsfbf2",
    "__truncdfbf2",
)


@functools.cache
def _libgcc() -> Mapping[str, int]:
    """Addresses of the helpers of libgcc that generated code may call, as far as present."""
    try:
        library = ctypes.CDLL("libgcc_s.so.1")
    except OSError:
        return {}
    found = {}
    for name in _GCC_HELPERS:
        symbol = getattr(library, name, None)
        if symbol is not None:
            found[name] = ctypes.cast(symbol, ctypes.c_void_p).value or 0
    return found


class Jit:
    """The machine code of one module in the LLVM dialect.

    Args:
        module: the module; it must outlive nothing, the engine keeps what it needs.
        opt_level: LLVM's -O level, 0 to 3.
        symbols: further functions the code may call, by address.
    """

    def __init__(
        self, module: ir.Module, opt_level: int = 3, symbols: Mapping[str, int] | None = None
    ) -> None:
        self.engine = ExecutionEngine(module, opt_level=opt_level)
        for name, address in {**_libgcc(), **(symbols or {})}.items():
            self.engine.raw_register_runtime(name, ctypes.c_void_p(address))
        self.entry_address = self.engine.raw_lookup(ENTRY) or 0
        if not self.entry_address:
            raise BuildError(
                "The machine code could not be linked: a function it calls is missing.",
                help="the missing symbols are on standard error; libgcc_s.so.1 must be installed.",
            )
        self._entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.entry_address)

    def call(self, pointers: np.ndarray) -> None:
        """Run the entry with a packed argument list (see :mod:`.calling`)."""
        self._entry(pointers.__array_interface__["data"][0])
