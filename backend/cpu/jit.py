"""Machine code from the LLVM dialect."""

from __future__ import annotations

from collections.abc import Mapping

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import BuildError
from allo.dialects.processes.engine import Engine

from .lowering.llvm import ENTRY


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
        for name, address in (symbols or {}).items():
            engine.register(name, address)
        self.entry_address = engine.lookup(ENTRY)
        if not self.entry_address:
            raise BuildError(
                "The machine code could not be linked: a function it calls is missing.",
                help="the missing symbols are on standard error; libgcc_s.so.1 must be installed.",
            )
