"""The C++ types of emitted code, independent of how a vendor spells them.

MLIR integers are signless; a :class:`CType` adds the signedness with which a value
is declared. An operation that needs the other one casts, so every value keeps its bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from allo.dialects._mlir import ir
from allo.dialects.types import AlloType, Fixed, Float, Index, Int, Stream, Struct, UFixed, UInt

NATIVE_WIDTHS = (8, 16, 32, 64)


class Kind(Enum):
    """What a scalar C++ value is."""

    INT = "int"
    FLOAT = "float"
    BFLOAT = "bfloat"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class CType:
    """A scalar type: kind, width in bits, signedness (integers; one bit counts as unsigned).

    Attributes:
        fracs: fraction bits of a fixed-point variable, None for anything else. Values are never of such
            a type: loads give the integer behind it, the type ``raw``, and stores take that.
    """

    kind: Kind
    bits: int
    signed: bool = True
    fracs: int | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether it is a fixed-point type."""
        return self.fracs is not None

    @property
    def raw(self) -> CType:
        """The type of the integer behind a fixed-point variable; any other type as it is."""
        signed = self.signed and self.bits > 1
        return CType(self.kind, self.bits, signed) if self.is_fixed else self

    @property
    def is_integer(self) -> bool:
        """Whether values are integers: integer, index and fixed-point types."""
        return self.kind in (Kind.INT, Kind.INDEX)

    @property
    def is_bool(self) -> bool:
        """Whether it is ``bool`` in C++: an integer of one bit."""
        return self.kind is Kind.INT and self.bits == 1 and not self.is_fixed

    @property
    def is_native(self) -> bool:
        """Whether plain C++ integers (or ``bool``) hold it, rather than a vendor's class."""
        return self.kind is Kind.INDEX or (
            self.kind is Kind.INT and self.bits in (1, *NATIVE_WIDTHS) and not self.is_fixed
        )

    def with_sign(self, signed: bool) -> CType:
        """The integer type of this width with or without a sign; any other type as it is."""
        return self if self.kind is not Kind.INT else CType(self.kind, self.bits, signed)


INDEX = CType(Kind.INDEX, 64, True)
"""An index: 64 bits, whatever its value."""
SMALL_INDEX = CType(Kind.INDEX, 32, True)
"""An index whose value is known to fit in ``int``."""
Bounds = tuple[int | None, int | None]


def fits_int(bounds: Bounds) -> bool:
    """Whether every value of an inclusive range, None where unknown, is an ``int``."""
    low, high = bounds
    return low is not None and high is not None and low >= -(1 << 31) and high < 1 << 31


def fits_index(bounds: Bounds) -> bool:
    """Whether every value of an inclusive range is known to be an index of 64 bits."""
    low, high = bounds
    return low is not None and high is not None and low >= -(1 << 63) and high < 1 << 63


def index_ctype(bounds: Bounds) -> CType:
    """The C++ type of an index of this range."""
    return SMALL_INDEX if fits_int(bounds) else INDEX


BOOL = CType(Kind.INT, 1, False)


def ctype_of(element: ir.Type, signed: bool = True) -> CType:
    """The C++ type of an MLIR scalar type.

    Raises:
        TypeError: for a type no scalar C++ type holds.
    """
    if isinstance(element, ir.IntegerType):
        return CType(Kind.INT, element.width, signed and element.width > 1)
    if isinstance(element, ir.IndexType):
        return INDEX
    if isinstance(element, ir.BF16Type):
        return CType(Kind.BFLOAT, 16)
    if isinstance(element, (ir.F16Type, ir.F32Type, ir.F64Type)):
        return CType(Kind.FLOAT, element.width)
    raise TypeError(f"no C++ scalar type holds {element}")


def ctype_of_declared(declared: AlloType) -> CType:
    """The C++ type that stores a declared type; structs are their raw bits."""
    if isinstance(declared, Stream):
        return ctype_of_declared(declared.dtype)
    if isinstance(declared, Index):
        return INDEX
    if isinstance(declared, Float):
        kind = Kind.BFLOAT if declared.name == "bf16" else Kind.FLOAT
        return CType(kind, declared.bits)
    if isinstance(declared, (Fixed, UFixed)):
        return CType(Kind.INT, declared.bits, isinstance(declared, Fixed), declared.fracs)
    if isinstance(declared, (UInt, Struct)):
        return CType(Kind.INT, declared.bits, False)
    if isinstance(declared, Int):
        return CType(Kind.INT, declared.bits, declared.bits > 1)
    raise TypeError(f"no C++ scalar type holds {declared}")
