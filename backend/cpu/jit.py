"""Machine code from the LLVM dialect."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import BuildError
from allo.dialects.engine import Engine

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
        self,
        module: ir.Module,
        opt_level: int = 3,
        symbols: Mapping[str, int] | None = None,
    ) -> None:
        engine = Engine(module, opt_level)
        self.engine = engine.binding
        for name, address in {**_libgcc(), **(symbols or {})}.items():
            engine.register(name, address)
        self.entry_address = engine.lookup(ENTRY)
        if not self.entry_address:
            raise BuildError(
                "The machine code could not be linked: a function it calls is missing.",
                help="the missing symbols are on standard error; libgcc_s.so.1 must be installed.",
            )
