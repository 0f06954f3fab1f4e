"""RTL: the hardware compiler, core IR to CIRCT to SystemVerilog.

``compile_design`` is imported on first use, because it brings CIRCT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compile import build_text, compile_design

__all__ = ["build_text", "compile_design"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import compile as compiler

        return getattr(compiler, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
