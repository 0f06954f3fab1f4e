"""MLIR types, attributes and locations of one emission, each made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.core.locations import location_of
from allo.dialects.diagnostics import SourcePlace
from allo.dialects.types import AlloType, Float, Index, Stream, UFixed, UInt

from ..tree import Var


def element_type_name(dtype: AlloType) -> str:
    """The MLIR spelling of a scalar type."""
    return "index" if isinstance(dtype, Stream) else dtype.mlir_name


class TypeCache:
    """Types, constants and locations, made on demand in the current context."""

    def __init__(self, context: ir.Context) -> None:
        self.context = context
        self._scalars: dict[str, ir.Type] = {}
        self._memrefs: dict[Any, ir.Type] = {}
        self._places: dict[SourcePlace, ir.Location] = {}
        self._strings: dict[str, ir.Attribute] = {}
        self.unit = ir.UnitAttr.get()
        self.index = ir.IndexType.get()
        self.i32 = ir.IntegerType.get_signless(32)

    def scalar(self, dtype: AlloType) -> ir.Type:
        """The MLIR type that stores a value of ``dtype``."""
        name = element_type_name(dtype)
        found = self._scalars.get(name)
        if found is None:
            found = self._scalars[name] = ir.Type.parse(name)
        return found

    def memref(self, var: Var) -> ir.MemRefType:
        """The type of a variable's storage."""
        space = 0 if var.memory is None else var.memory.get_memory_space()
        key = (element_type_name(var.dtype), var.shape, space, var.strides)
        found = self._memrefs.get(key)
        if found is None:
            found = self._memrefs[key] = self.memref_of(var.shape, var.dtype, space, var.strides)
        return found

    def memref_of(
        self,
        shape: Sequence[int | None],
        dtype: AlloType,
        space: int = 0,
        strides: Sequence[int | None] | None = None,
        offset: int | None = None,
    ) -> ir.MemRefType:
        """A memref type; ``strides`` given means a view at ``offset`` (None: dynamic)."""
        dynamic = ir.ShapedType.get_dynamic_size()
        extents = [dynamic if d is None else d for d in shape]
        memory_space = ir.IntegerAttr.get(self.i32, space) if space else None
        layout = None
        if strides is not None:
            unknown = ir.ShapedType.get_dynamic_stride_or_offset()
            layout = ir.StridedLayoutAttr.get(
                unknown if offset is None else offset,
                [unknown if s is None else s for s in strides],
            )
        return ir.MemRefType.get(
            extents, self.scalar(dtype), layout=layout, memory_space=memory_space
        )

    def string(self, text: str) -> ir.Attribute:
        """The attribute of a text."""
        found = self._strings.get(text)
        if found is None:
            found = self._strings[text] = ir.StringAttr.get(text)
        return found

    def strings(self, texts: Sequence[str]) -> ir.Attribute:
        """The attribute of a list of texts."""
        return ir.ArrayAttr.get([self.string(t) for t in texts])

    def location(self, place: SourcePlace) -> ir.Location:
        """The location of a place."""
        found = self._places.get(place)
        if found is None:
            found = self._places[place] = location_of(place)
        return found

    def number(self, dtype: AlloType, value: int | float) -> ir.Attribute:
        """The attribute of a constant."""
        mlir_type = self.scalar(dtype)
        if isinstance(dtype, Float):
            return ir.FloatAttr.get(mlir_type, float(value))
        if isinstance(dtype, Index):
            return ir.IntegerAttr.get(mlir_type, int(value))
        bits = dtype.bits
        number = int(value) & ((1 << bits) - 1)
        if bits > 64:
            # In hexadecimal: Python turns no number of over 4,300 digits into decimal text.
            return ir.Attribute.parse(f"{number:#x} : i{bits}")
        if bits > 1 and number >> (bits - 1):
            number -= 1 << bits
        return ir.IntegerAttr.get(mlir_type, number)

    def integer(self, value: int, bits: int = 32) -> ir.Attribute:
        """The attribute of an integer without a sign."""
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), value)

    def unsigned_integer(self, value: int) -> ir.Attribute:
        """The attribute of an unsigned integer of 32 bits."""
        return ir.IntegerAttr.get(ir.IntegerType.get_unsigned(32), value)


def is_unsigned(dtype: AlloType) -> bool:
    """Whether a variable of this type carries the ``unsigned`` mark."""
    return isinstance(dtype, (UInt, UFixed))
