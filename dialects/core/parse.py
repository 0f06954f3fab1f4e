"""Core IR from text or from a module."""

from __future__ import annotations

from typing import Any

from .._mlir import ir, make_context, with_dialect
from ..diagnostics import BuildError
from ..text.shown import shown
from .locations import place_of

_TEXT = "-"
"""The file that MLIR names for a place in the text itself."""


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


def parse_module(text: str, context: ir.Context | None = None) -> ir.Module:
    """Core IR text as a module, in a context of its own unless one is given.

    Raises:
        BuildError: when the text does not parse, or MLIR refuses an operation.
    """
    context = make_context() if context is None else with_dialect(context)
    try:
        return ir.Module.parse(text, context)
    except ir.MLIRError as error:
        raise _refusal(error) from None


def _refusal(error: ir.MLIRError) -> BuildError:
    if not error.error_diagnostics:
        return BuildError(f"The core IR does not parse: {error}.")
    first = error.error_diagnostics[0]
    text = "; ".join([first.message, *(note.message for note in first.notes)])
    place = place_of(first.location)
    if place is not None and place.file == _TEXT:
        text, place = f"line {place.line}, column {place.col} of the text: {text}", None
    return BuildError(f"The core IR does not parse: {text}.", place)
