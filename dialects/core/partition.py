"""Array partition: how the elements of an array are spread over banks.

A partition lives in the memref type as a layout map whose results are one bank
index a dimension followed by one offset a dimension::

    complete, dim 1 of two     (d0, d1) -> (d0, 0, 0, d1)
    cyclic by f, dim 1         (d0, d1) -> (d0 mod f, 0, d0 floordiv f, d1)
    block by f, dim 1          (d0, d1) -> (d0 floordiv c, 0, d0 mod c, d1),  c = ceil(extent / f)

This module writes such maps and reads them back; nothing else interprets them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from .._mlir import ir
from ..diagnostics import PartitionError


class Partition(enum.IntEnum):
    """The published partition kinds."""

    Complete = 0
    Block = 1
    Cyclic = 2


@dataclass(frozen=True, slots=True)
class DimPartition:
    """How one dimension is spread; ``kind`` None means it is not.

    Attributes:
        kind: partition kind, or None.
        banks: number of banks along this dimension (1 when not partitioned).
        extent: the dimension's extent.
    """

    kind: Partition | None
    banks: int
    extent: int

    @property
    def depth(self) -> int:
        """Elements a bank holds along this dimension."""
        return -(-self.extent // self.banks) if self.banks else 0

    def split(self, position: Any) -> tuple[Any, Any]:
        """(bank, offset) of element ``position``, or of each element of an array of positions."""
        if self.kind is None:
            return position * 0, position
        if self.kind is Partition.Complete:
            return position, position * 0
        if self.kind is Partition.Cyclic:
            return position % self.banks, position // self.banks
        return position // self.depth, position % self.depth


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """The partition of a whole array, dimension by dimension.

    Attributes:
        bank_count: the number of banks.
        bank_depth: words in each bank.
    """

    dims: tuple[DimPartition, ...]
    bank_count: int = field(init=False, repr=False, compare=False)
    bank_depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bank_count", prod(d.banks for d in self.dims))
        object.__setattr__(self, "bank_depth", prod(d.depth for d in self.dims))

    def locate(self, index: Sequence[int]) -> tuple[int, int]:
        """(bank number, word address in that bank) of an element; both row-major."""
        bank = word = 0
        for dim, position in zip(self.dims, index, strict=True):
            b, w = dim.split(position)
            bank = bank * dim.banks + b
            word = word * dim.depth + w
        return bank, word


def unpartitioned(shape: Iterable[int]) -> ArrayLayout:
    """The layout of an array in one bank."""
    return ArrayLayout(tuple(DimPartition(None, 1, extent) for extent in shape))


def make_dim(kind: Partition, extent: int, factor: int) -> DimPartition:
    """The partition of one dimension by ``factor``, as the published rules have it."""
    if kind is Partition.Complete:
        return DimPartition(kind, extent, extent)
    if factor <= 0:
        raise PartitionError(f"Invalid factor {factor}: a {kind.name} partition needs at least 1.")
    if kind is Partition.Cyclic:
        return DimPartition(kind, min(factor, extent), extent)
    chunk = -(-extent // factor)
    return DimPartition(kind, -(-extent // chunk), extent)


def layout_map(layout: ArrayLayout) -> ir.AffineMap:
    """The layout as an affine map of the current context."""
    zero = ir.AffineExpr.get_constant(0)
    banks, offsets = [], []
    for position, dim in enumerate(layout.dims):
        d = ir.AffineExpr.get_dim(position)
        if dim.kind is None:
            bank, offset = zero, d
        elif dim.kind is Partition.Complete:
            bank, offset = d, zero
        elif dim.kind is Partition.Cyclic:
            bank = ir.AffineExpr.get_mod(d, dim.banks)
            offset = ir.AffineExpr.get_floor_div(d, dim.banks)
        else:
            bank = ir.AffineExpr.get_floor_div(d, dim.depth)
            offset = ir.AffineExpr.get_mod(d, dim.depth)
        banks.append(bank)
        offsets.append(offset)
    return ir.AffineMap.get(len(layout.dims), 0, banks + offsets)


def with_layout(memref_type: ir.MemRefType, layout: ArrayLayout) -> ir.MemRefType:
    """``memref_type`` with its partition replaced; the plain type when nothing is partitioned."""
    shape, element, space = memref_type.shape, memref_type.element_type, memref_type.memory_space
    if layout.bank_count == 1:
        return ir.MemRefType.get(shape, element, memory_space=space)
    attribute = ir.AffineMapAttr.get(layout_map(layout))
    return ir.MemRefType.get(shape, element, layout=attribute, memory_space=space)


def layout_of(memref_type: ir.MemRefType) -> ArrayLayout:
    """The partition a memref type carries; the inverse of :func:`with_layout`.

    Raises:
        PartitionError: when the layout map is not one this module writes.
    """
    shape = list(memref_type.shape)
    affine_map = memref_type.affine_map
    if len(affine_map.results) != 2 * len(shape):
        return unpartitioned(shape)
    results = list(affine_map.results)
    dims = [
        _read_dim(bank, offset, extent)
        for bank, offset, extent in zip(
            results[: len(shape)], results[len(shape) :], shape, strict=True
        )
    ]
    return ArrayLayout(tuple(dims))


def _read_dim(bank: ir.AffineExpr, offset: ir.AffineExpr, extent: int) -> DimPartition:
    if isinstance(bank, ir.AffineConstantExpr):
        return DimPartition(None, 1, extent)
    if isinstance(bank, ir.AffineDimExpr):
        return DimPartition(Partition.Complete, extent, extent)
    if isinstance(bank, ir.AffineModExpr):
        factor = _constant(bank.rhs)
        return DimPartition(Partition.Cyclic, factor, extent)
    if isinstance(bank, ir.AffineFloorDivExpr):
        chunk = _constant(bank.rhs)
        return DimPartition(Partition.Block, -(-extent // chunk), extent)
    raise PartitionError(f"The layout ({bank}, {offset}) is not an array partition.")


def _constant(expr: ir.AffineExpr) -> int:
    return int(ir.AffineConstantExpr(expr).value)
