"""Errors of array partitioning, under their published name."""

from allo.dialects.diagnostics import PartitionError as AlloValueError

__all__ = ["AlloValueError"]
