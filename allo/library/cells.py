"""Cells of systolic arrays: one product a step, or two on one multiplier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allo.ir.types import Int, UInt, index, int8, int32


def PE_kernel[TyA, TyB, TyC, K: int32, Mt: int32, Nt: int32](
    A_in: TyA[K], B_in: TyB[K], A_out: TyA[K], B_out: TyB[K], C: TyC[Mt, Nt], i: index, j: index
):
    """One cell: accumulate the products of what passes, and pass it on."""
    acc: TyC = 0
    for k in range(K, name="reduction"):
        a: TyA = A_in[k]
        b: TyB = B_in[k]
        acc += a * b
        A_out[k] = a
        B_out[k] = b
    C[i, j] = acc


def _packed_cell(name: str, bits: int, sums: int) -> Callable[..., Any]:
    """A cell of that name for two columns of so many bits, and sums of so many.

    An element of B holds a column in its lower half and the next in its upper one, and so does one of
    C with their sums, which are kept modulo their width. One multiplier makes both products: of
    ``a · (high · 2ᵍ + low)``, where g bits hold ``a · low``.
    """
    gap = bits + 8

    def packed_cell[K: int32, Mt: int32, Nt: int32](
        A_in: int8[K],
        B_in: Int(2 * bits)[K],
        A_out: int8[K],
        B_out: Int(2 * bits)[K],
        C: Int(2 * sums)[Mt, Nt],
        i: index,
        j: index,
    ):
        first: Int(sums) = 0
        second: Int(sums) = 0
        for k in range(K, name="reduction"):
            a: int8 = A_in[k]
            b: Int(2 * bits) = B_in[k]
            low: Int(bits) = b[0:bits]
            high: Int(gap + bits + 1) = b >> bits
            pair: Int(gap + bits + 1) = (high << gap) + low
            both: Int(gap + bits + 9) = a * pair
            product: Int(gap) = both[0:gap]
            upper: Int(bits + 9) = both >> gap
            # A negative lower product has borrowed from the upper one.
            borrow: UInt(1) = both[gap - 1]
            first += product
            second += upper + borrow
            A_out[k] = a
            B_out[k] = b
        word: Int(2 * sums) = 0
        word[0:sums] = first
        word[sums : 2 * sums] = second
        C[i, j] = word

    packed_cell.__name__ = packed_cell.__qualname__ = name
    return packed_cell


PE_kernel_packed_int8xint8 = _packed_cell("PE_kernel_packed_int8xint8", 8, 16)
"""Two sums of products on one multiplier; bits 0 to 7 of B are a column, bits 8 to 15 the next.

The sums are kept modulo 2¹⁶, in bits 0 to 15 and 16 to 31 of C.
"""

PE_kernel_packed_int4xint8 = _packed_cell("PE_kernel_packed_int4xint8", 4, 16)
"""``PE_kernel_packed_int8xint8`` of int4: bits 0 to 3 of B are a column, bits 4 to 7 the next."""

PE_kernel_packed_int8xint8_int32 = _packed_cell("PE_kernel_packed_int8xint8_int32", 8, 32)
"""``PE_kernel_packed_int8xint8`` with sums of 32 bits, in the halves of an Int(64)."""

PE_kernel_packed_int4xint8_int32 = _packed_cell("PE_kernel_packed_int4xint8_int32", 4, 32)
"""``PE_kernel_packed_int4xint8`` with sums of 32 bits, in the halves of an Int(64)."""
