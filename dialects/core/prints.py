"""What an ``allo.print`` writes: a value between two texts, read in one place."""

from __future__ import annotations

from dataclasses import dataclass

from .._mlir import ir

PRINT = "allo.print"


@dataclass(frozen=True, slots=True)
class Printed:
    """One ``allo.print``: ``before``, the value if there is one, and ``after``, without a newline.

    Attributes:
        declared: the declared type of the value, or of its elements; ``""`` where there is none.
    """

    before: str
    after: str
    declared: str
    value: ir.Value | None


def printed_of(op: ir.Operation) -> Printed:
    """What an ``allo.print`` writes."""
    texts = (ir.StringAttr(op.attributes[key]).value for key in ("before", "after", "dtype"))
    return Printed(*texts, value=op.operands[0] if len(op.operands) else None)
