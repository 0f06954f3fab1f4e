"""What to partition where a handle names a field of a Struct that has no memory of its own."""

from __future__ import annotations

from collections.abc import Iterable

from allo.dialects._mlir import ir
from allo.dialects.core.signature import signature_of


def help_for_field(function: ir.Operation, name: str) -> str | None:
    """For ``p_A`` of an argument ``p`` whose elements are Structs with a field ``A``: what would do."""
    signature = signature_of(function)
    for argument, kind in zip(signature.names, signature.declared, strict=True):
        field = name.removeprefix(f"{argument}_")
        if field != name and kind.startswith("struct<") and f"{field}: " in kind:
            return (
                f"an element of {argument} is one word, of which each access takes all of {field}: "
                f"partition {argument}, or copy the Struct to a local variable, whose fields are arrays of "
                "their own."
            )
    return None


def help_for_struct(name: str, buffers: Iterable[str]) -> str | None:
    """For a Struct ``p`` that is no array: its fields."""
    fields = [buffer for buffer in buffers if buffer.startswith(f"{name}_")]
    return f"{name} is a Struct; its fields are {', '.join(fields)}." if fields else None
