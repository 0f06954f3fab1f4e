"""Attributes of operations, read as Python values."""

from __future__ import annotations

from allo.dialects._mlir import ir


def has(op: ir.Operation, name: str) -> bool:
    """Whether an operation has an attribute of this name."""
    return name in op.attributes


def string(op: ir.Operation, name: str) -> str | None:
    """A string attribute's value, or None when it is absent."""
    return op.attributes[name].value if name in op.attributes else None


def integer(op: ir.Operation, name: str) -> int | None:
    """An integer attribute's value, or None when it is absent."""
    return int(op.attributes[name].value) if name in op.attributes else None
