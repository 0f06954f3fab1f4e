"""Arrays that keep to the ports through which a block of their device can be written.

A block of iCE40 has one writing port: an array that two ports write would be registers there.
"""

from __future__ import annotations

from collections.abc import Iterable

from allo.backend.devices import Cells

from ..nodes import Array


def keep_to_write_ports(arrays: Iterable[Array], cells: Cells, *, outermost: bool) -> None:
    """Let one port alone write each array that is then a block, where blocks have no second such port.

    Args:
        outermost: whether the function is the whole design, so that its parameters lie outside it.
    """
    if cells.write_ports > 1:
        return
    for array in arrays:
        inside = array.storage == "ram" or (array.storage == "port" and not outermost)
        array.one_writes = inside and _is_block(array, cells)


def _is_block(array: Array, cells: Cells) -> bool:
    blocks = cells.block_count(array.depth, array.width, both_write=False)
    return cells.table_memory or array.depth * array.width > cells.block_cost * blocks
