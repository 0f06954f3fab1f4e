"""How an argument's elements lie in memory, where that is not row-major with a cell each.

``s.layout(s.A, "tiled(4, 8)")`` gives the argument the shape that the memory has, and notes at the top
function how a caller's array becomes one: ``layouts = {A = "tiled(4, 8)"}``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._mlir import ir

ATTRIBUTE = "layouts"
TRANSPOSED = "transposed"
PACKED = "packed"
_TILED = re.compile(r"tiled\(\s*(\d+(?:\s*,\s*\d+)*)\s*,?\s*\)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Layout:
    """An order of elements: row-major, dimensions reversed, or in tiles one after the other, each row-major.

    Attributes:
        tile: extents of a tile; none where there are no tiles.
        transposed: the dimensions are reversed.
        packed: no bits lie between elements behind an AXI4 master.
    """

    tile: tuple[int, ...] = ()
    transposed: bool = False
    packed: bool = False

    def __str__(self) -> str:
        words = [TRANSPOSED] if self.transposed else []
        words += [f"tiled({', '.join(map(str, self.tile))})"] if self.tile else []
        return " ".join([*words, PACKED] if self.packed else words)

    @property
    def reorders(self) -> bool:
        """Whether elements lie otherwise than row-major."""
        return self.transposed or bool(self.tile)

    def with_packed(self, *, packed: bool = True) -> Layout:
        """The same order, with bits between the elements or without."""
        return replace(self, packed=packed)

    def covers(self, shape: Sequence[int]) -> bool:
        """Whether whole tiles make the array."""
        if not self.tile:
            return True
        pairs = zip(shape, self.tile, strict=False)
        return len(shape) == len(self.tile) and all(t and n % t == 0 for n, t in pairs)

    def physical(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape in memory of an array of this shape."""
        if not self.tile:
            return tuple(reversed(shape) if self.transposed else shape)
        return (*(n // t for n, t in zip(shape, self.tile, strict=True)), *self.tile)

    def declared(self, physical: Sequence[int]) -> tuple[int, ...]:
        """The shape of an array that has this one in memory."""
        if not self.tile:
            return tuple(reversed(physical) if self.transposed else physical)
        return tuple(n * t for n, t in zip(physical, self.tile, strict=False))

    def pack(self, cells: np.ndarray, shape: Sequence[int]) -> np.ndarray:
        """The elements of an array of a shape in the order of the memory; bytes of one stay together."""
        if not self.reorders:
            return cells
        rank = len(shape)
        inner = list(range(cells.ndim)[rank:])
        if not self.tile:
            return np.ascontiguousarray(cells.transpose([*reversed(range(rank)), *inner]))
        split = [e for n, t in zip(shape, self.tile, strict=True) for e in (n // t, t)]
        order = [*range(0, 2 * rank, 2), *range(1, 2 * rank, 2), *(rank + axis for axis in inner)]
        cut = cells.reshape([*split, *cells.shape[rank:]])
        return np.ascontiguousarray(cut.transpose(order))

    def unpack(self, packed: np.ndarray, shape: Sequence[int]) -> np.ndarray:
        """The array of a shape whose elements lie so in memory."""
        if not self.reorders:
            return packed
        rank, held = len(shape), len(self.physical(shape))
        bytes_of_one = packed.shape[held:]
        inner = list(range(packed.ndim)[held:])
        order = [*reversed(range(rank))]
        if self.tile:
            order = [axis for n in range(rank) for axis in (n, rank + n)]
        put = np.ascontiguousarray(packed.transpose([*order, *inner]))
        return put.reshape([*shape, *bytes_of_one])


def parse_layout(text: object) -> Layout | None:
    """What ``"transposed"``, ``"tiled(4, 8)"``, ``"packed"`` or ``"tiled(4, 8) packed"`` says, or None."""
    if not isinstance(text, str):
        return None
    order, packed = text.strip(), False
    if order.endswith(PACKED):
        order, packed = order.removesuffix(PACKED).rstrip(" ,"), True
    if order == TRANSPOSED:
        return Layout(transposed=True, packed=packed)
    if not order:
        return Layout(packed=True) if packed else None
    found = _TILED.fullmatch(order)
    return Layout(tuple(int(n) for n in found[1].split(",")), packed=packed) if found else None


def layouts_of(function: ir.Operation) -> dict[str, Layout]:
    """The layouts of the arguments of a top function, by name; those in row-major order are absent."""
    if ATTRIBUTE not in function.attributes:
        return {}
    noted = ir.DictAttr(function.attributes[ATTRIBUTE])
    found = {each.name: parse_layout(ir.StringAttr(each.attr).value) for each in noted}
    return {name: layout for name, layout in found.items() if layout is not None}


def packed_cell(bits: int) -> int:
    """Bits that an element takes in memory where it is not packed."""
    return max(8, 1 << (bits - 1).bit_length())


def note_layout(function: ir.Operation, name: str, layout: Layout) -> None:
    """Add to what :func:`layouts_of` reads."""
    noted = {n: ir.StringAttr.get(str(each)) for n, each in layouts_of(function).items()}
    function.attributes[ATTRIBUTE] = ir.DictAttr.get(noted | {name: ir.StringAttr.get(str(layout))})
