"""Putting operations in place of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._mlir import ir


def replace_operation(
    op: ir.Operation,
    name: str,
    operands: Sequence[ir.Value],
    attributes: Mapping[str, ir.Attribute],
) -> ir.Operation:
    """Put another operation, of the same results, in the place of one and erase that."""
    made = ir.Operation.create(
        name,
        results=[r.type for r in op.results],
        operands=list(operands),
        attributes=dict(attributes),
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    for old, new in zip(op.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
    return made
