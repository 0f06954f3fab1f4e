"""How wide the integers of a vendor's C++ may be.

AMD's ``ap_int`` has 1,024 bits unless ``AP_INT_MAX_W`` says more, and at most 4,096 (UG1399, C++ Arbitrary
Precision Integer Types). A product of two has as many bits as both together.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import functions_of, has_body
from allo.dialects.diagnostics import CapacityWarning, UnsupportedOpError

from .tables import Vendor

WITHOUT_A_WORD = 512
"""Bits up to which products fit in AMD's default of 1,024."""


def widest_integer(module: ir.Module) -> tuple[int, ir.Operation | None]:
    """The bits of the widest integer of a module, and the first operation that has one."""
    most, where = 0, None
    for function in functions_of(module).values():
        if not has_body(function):
            continue
        for operation in (function, *walk(function)):
            bits = max(_bits(operation), default=0)
            if bits > most:
                most, where = bits, operation
    return most, where


def check_widths(module: ir.Module, vendor: Vendor, mode: str | None) -> None:
    """Refuse integers that the vendor's tool cannot have; csim has them, and the text warns.

    Raises:
        UnsupportedOpError: a mode that runs the vendor's tool, and an integer above its limit.
    """
    if vendor.most_bits is None:
        return
    bits, where = widest_integer(module)
    if bits <= vendor.most_bits:
        return
    what = f"{vendor.name} has integers of up to {vendor.most_bits:,} bits, and here is one of {bits:,}"
    place = place_of(where) if where is not None else None
    remedy = "split the word into an array of narrower ones."
    if mode not in (None, "csim"):
        raise UnsupportedOpError(f"{what}.", place, help=remedy)
    at = f"{place}: " if place else ""
    warnings.warn(
        f"{at}{what}. Here csim runs all the same.\nhelp: {remedy}", CapacityWarning, stacklevel=3
    )


def width_define(module: ir.Module, vendor: Vendor) -> str:
    """The line before the headers that lets them have the module's integers; "" where none is needed."""
    bits, _ = widest_integer(module)
    if vendor.most_bits is None or bits <= WITHOUT_A_WORD:
        return ""
    most = 1 << (2 * bits - 1).bit_length()
    return f"#define AP_INT_MAX_W {min(most, vendor.most_bits)}"


def _bits(operation: ir.Operation) -> Iterator[int]:
    values = [*operation.results, *operation.operands]
    if operation.name == "func.func":
        values += operation.regions[0].blocks[0].arguments
    for value in values:
        kind = value.type
        if isinstance(kind, ir.ShapedType):
            kind = kind.element_type
        if isinstance(kind, ir.IntegerType):
            yield kind.width
