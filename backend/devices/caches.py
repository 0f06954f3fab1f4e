"""Whether the buffers that the primitive ``cache`` made fit on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.cached import Cached, caches_of
from allo.dialects.affine.loops import parent_of
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import CapacityError, SourcePlace
from allo.dialects.streams.loops.iterations import copies_of

from .record import DeviceRecord


@dataclass(frozen=True, slots=True)
class Kept:
    """A buffer that the primitive ``cache`` made.

    Attributes:
        bytes: of all its copies.
        about: the array and the loop, and what it would take at loops inside.
    """

    name: str
    bytes: int
    elements: int
    about: Cached
    place: SourcePlace | None

    def remedy(self, room: int) -> str:
        """A loop at which it would fit into ``room`` bytes."""
        array = self.about.array
        for loop, count in self.about.inside.items():
            if (fits := self.bytes * count // self.elements) <= room:
                return f'cache {array} at loop {loop}, where it takes {fits:,} bytes: at="{loop}".'
        return (
            f"split loop {self.about.loop}, or one inside of it, and cache at a loop of fewer "
            "iterations."
        )


def kept_caches(module: ir.Module) -> list[Kept]:
    """The caches of a module, the largest first."""
    found = [
        Kept(
            ir.StringAttr(op.attributes["name"]).value,
            _bytes(op),
            prod(ir.MemRefType(op.result.type).shape),
            cached,
            place_of(op),
        )
        for op, cached in caches_of(module.operation)
    ]
    return sorted(found, key=lambda each: -each.bytes)


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
    caches = kept_caches(module)
    total = sum(each.bytes for each in caches)
    if total <= there:
        return
    most = caches[0]
    raise CapacityError(
        f"{_keeps(most, caches)}; a {record.part.title} holds {there:,} on chip{_kinds(record)}.",
        most.place,
        help=most.remedy(there - (total - most.bytes)),
    )


def refuse_blocks(caches: Sequence[Kept], record: DeviceRecord, over: int) -> None:
    """Refuse caches that fit by their bytes, and not by their blocks.

    Args:
        over: how many blocks more than there are the memories of the design take, once those that can be are
            in the large blocks.

    Raises:
        CapacityError: there are caches, and too few blocks.
    """
    if record.part is None or over <= 0 or not caches:
        return
    part, most = record.part, caches[0]
    there = part.resources["bram"]
    small = there * part.block_kbit * 1024 // 8
    only = ""
    if part.resources["uram"]:
        only = (
            f"; its {part.resources['uram']:,} blocks of 288 kbit take what one access reads and one "
            f"writes, in words of {record.cells.ultra[1]} bits"
        )
    raise CapacityError(
        f"{_keeps(most, caches)}. The memories of the design take {there + over:,} blocks of "
        f"{part.block_kbit} kbit, and a {part.title} has {there:,}, {small:,} bytes{only}.",
        most.place,
        help=f"{most.remedy(small)} Or let one access read it: s.reuse_at passes neighbours on.",
    )


def _keeps(most: Kept, caches: Sequence[Kept]) -> str:
    total = sum(each.bytes for each in caches)
    together = f", and all caches {total:,}" if len(caches) > 1 else ""
    of = f"of {most.about.array} for loop {most.about.loop}"
    return f"{most.name} keeps {most.bytes:,} bytes {of}{together}"


def _kinds(record: DeviceRecord) -> str:
    part = record.part
    if part is None or not part.resources["uram"]:
        return ""
    blocks = part.resources["bram"] * part.block_kbit * 1024 // 8
    return (
        f", {blocks:,} of them in blocks of {part.block_kbit} kbit and the others in blocks of 288"
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
