"""Iterations with the same work, and rows that are fetched once: what is tried first of arrays outside."""

from __future__ import annotations

from .builder import Builder
from .columns import try_columns
from .shared import try_shared


def try_first(search: Builder) -> None:
    """Columns of triangles, and nests that read the rows of one matrix as one."""
    try_columns(search)
    try_shared(search)
