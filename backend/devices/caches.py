"""Whether the buffers that the primitive ``cache`` made fit on a device."""

from __future__ import annotations

from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.cached import Cached, caches_of
from allo.dialects.affine.loops import parent_of
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import CapacityError
from allo.dialects.streams.loops.iterations import copies_of

from .record import DeviceRecord


def ram_bytes(record: DeviceRecord) -> int | None:
    """Bytes of RAM that the largest device that users of a family have holds; None where it has no end."""
    part = record.part
    if part is None:
        return None
    ultra = part.resources["uram"] * prod(record.cells.ultra or (0,))
    return (part.resources["bram"] * part.block_kbit * 1024 + ultra) // 8


def check_caches(module: ir.Module, record: DeviceRecord) -> None:
    """Hold the caches of a module against the RAM of the largest device that users of a family have.

    Raises:
        CapacityError: they are larger; it names the largest, and a loop at which it would fit.
    """
    there = ram_bytes(record)
    if record.part is None or there is None:
        return
    sizes = [(_bytes(op), op, cached) for op, cached in caches_of(module.operation)]
    total = sum(size for size, _, _ in sizes)
    if total <= there:
        return
    size, op, cached = max(sizes, key=lambda each: each[0])
    name = ir.StringAttr(op.attributes["name"]).value
    together = f", and all caches {total:,}" if len(sizes) > 1 else ""
    raise CapacityError(
        f"{name} keeps {size:,} bytes of {cached.array} for loop {cached.loop}{together}; a "
        f"{record.part.title} holds {there:,} on chip.",
        place_of(op),
        help=_help(op, cached, there - (total - size), size),
    )


def _bytes(op: ir.Operation) -> int:
    kind = ir.MemRefType(op.result.type)
    loop = parent_of(op)
    copies = copies_of(loop) if loop is not None and "dataflow" in loop.attributes else 1
    bits = copies * int(prod(kind.shape)) * _width(kind.element_type)
    return -(-bits // 8)


def _width(element: ir.Type) -> int:
    if isinstance(element, ir.IntegerType):
        return int(element.width)
    return 64 if isinstance(element, ir.IndexType) else int(ir.FloatType(element).width)


def _help(op: ir.Operation, cached: Cached, room: int, size: int) -> str:
    """A loop at which the buffer would fit into the room that other caches leave."""
    elements = prod(ir.MemRefType(op.result.type).shape)
    for loop, count in cached.inside.items():
        if (fits := size * count // elements) <= room:
            return (
                f'cache {cached.array} at loop {loop}, where it takes {fits:,} bytes: at="{loop}".'
            )
    return (
        f"split loop {cached.loop}, or one inside of it, and cache at a loop of fewer iterations."
    )
