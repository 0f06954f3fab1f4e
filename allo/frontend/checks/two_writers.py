"""Processes run at once, so none writes an element of an array that another one reads or writes."""

from __future__ import annotations

from collections.abc import Iterator

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import DataflowError, Surprise
from allo.dialects.streams.shared.races import races
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


def refuse_races(module: ir.Module) -> Iterator[Surprise]:
    """Refuse a region of which one process reads an element that another writes; what may be is a surprise.

    Two processes that streams join may be ordered by them in a way that is not looked through: a surprise.

    Raises:
        DataflowError: at the read.
    """
    for found in races(module):
        (reader, here), (writer, there) = found.reader, found.writer
        meant = (
            f"a stream that orders them: all that {writer} does with the array before its first put, and a "
            f"get of {reader} before all that it does with it; or send the values themselves"
        )
        if found.certain and not found.joined:
            raise DataflowError(
                f"The processes {reader} and {writer} run at once; {reader} reads {found.element}, which "
                f"{writer} writes: whether it finds the old value or the new one is not defined.",
                here,
                help=f"write {meant}.",
                notes=((f"{writer} writes it here", there),) if there is not None else (),
            )
        if here is not None:
            yield Surprise.of("readers", here, meant)


__all__ = ["refuse_races", "refuse_two_writers"]
