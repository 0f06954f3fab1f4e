"""Rows that touch arrays in the order of memory: their words pass beside the core, and are not copied."""

from __future__ import annotations

from ..model.kernel import Kernel
from ..model.rows import Row, Space


def in_order(kernel: Kernel, space: Space) -> Space:
    """The rows that keep the order of the loops and tile from the innermost loop outwards.

    A nest without such rows keeps all that it has.
    """
    rows = {
        number: [row for row in found if _is_ordered(kernel, row)] or found
        for number, found in space.rows.items()
    }
    return Space(rows, space.units, space.looked_at)


def _is_ordered(kernel: Kernel, row: Row) -> bool:
    """Whether a loop is tiled only where all inside it are in the tile whole."""
    chain = kernel.nests[row.nest].chain
    if row.order != tuple(loop.name for loop in chain):
        return False
    whole = True
    for loop in reversed(chain):
        factor = row.factors.get(loop.name, 1)
        if factor > 1 and not whole:
            return False
        whole = whole and factor == loop.extent
    return True
