"""Core IR from text or from a module."""

from __future__ import annotations

from typing import Any

from .._mlir import ir, make_context
from ..diagnostics import BuildError
from ..text.shown import shown


def text_of(module: Any) -> str:
    """Core IR as text, with its places.

    Raises:
        BuildError: it is neither text nor a module.
    """
    if isinstance(module, str):
        return module
    if not isinstance(module, ir.Module):
        raise BuildError(
            f"Core IR is MLIR text or a module, not {shown(module)}.",
            help="pass s.module of a schedule, or its text.",
        )
    return str(module.operation.get_asm(enable_debug_info=True))


def parse_module(text: str) -> ir.Module:
    """Core IR text as a module in a context of its own.

    Raises:
        BuildError: when the text does not parse.
    """
    context = make_context()
    try:
        return ir.Module.parse(text, context)
    except ir.MLIRError as error:
        raise BuildError(f"The core IR does not parse: {error}.") from None
