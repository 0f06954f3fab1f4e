"""Which arrays are to be copied in while the core runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from allo.dialects.types import Stream

from ...read.records import Program
from ..arguments import Known


def early_positions(known: Known, interface: str | Mapping[str, Any]) -> tuple[int, ...]:
    """The arguments for which ``early`` is asked."""
    if isinstance(interface, str):
        return ()
    found = []
    for position, parameter in enumerate(known.signature.arguments):
        fields = interface.get(parameter.name)
        array = parameter.shape is not None and not isinstance(parameter.dtype, Stream)
        if array and isinstance(fields, Mapping) and fields.get("early") is True:
            found.append(position)
    return tuple(found)


def early_of(program: Program, top: str, positions: Collection[int]) -> frozenset[str]:
    """The arrays that are asked for so, and copied whole: those that do not pass beside the core."""
    names = program.functions[top].attrs["arg_names"] if positions else ()
    return frozenset(names[n] for n in positions if n not in program.transfers)


def waits_for_words(program: Program, top: str) -> bool:
    """Whether a function waits for words: those of streams, and of arrays that pass."""
    types = program.functions[top].attrs["arg_types"]
    return bool(program.transfers) or any(kind.startswith("stream<") for kind in types)


__all__ = ["early_of", "early_positions", "waits_for_words"]
