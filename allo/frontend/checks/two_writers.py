"""Processes run at once, so no two of them write one element of an array."""

from __future__ import annotations

from collections.abc import Iterator

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import DataflowError, Surprise
from allo.dialects.streams.shared.writers import two_writers


def refuse_two_writers(module: ir.Module) -> Iterator[Surprise]:
    """Refuse a region of which two processes write one element; what may be one is a surprise.

    Raises:
        DataflowError: at the second write.
    """
    for found in two_writers(module.operation):
        first, second = found.names
        if found.certain:
            there = found.places[0]
            raise DataflowError(
                f"The processes {first} and {second} run at once, and both write {found.element}: which "
                "of the two values stays is not defined.",
                found.places[1],
                help="let each process write elements of its own, or let one of them send its values to the "
                "other by a stream.",
                notes=((f"{first} writes it here", there),) if there is not None else (),
            )
        if found.places[1] is not None:
            yield Surprise.of(
                "writers",
                found.places[1],
                f"elements that the subscripts of {first} and {second} tell apart, or an array for each",
            )


__all__ = ["refuse_two_writers"]
