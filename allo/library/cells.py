"""Cells of systolic arrays: one product a step, or two on one multiplier."""

from __future__ import annotations

from allo.ir.types import Int, UInt, index, int4, int8, int16, int32


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


def PE_kernel_packed_int8xint8[K: int32, Mt: int32, Nt: int32](
    A_in: int8[K],
    B_in: int16[K],
    A_out: int8[K],
    B_out: int16[K],
    C: int32[Mt, Nt],
    i: index,
    j: index,
):
    """Two sums of products on one multiplier; bits 0 to 7 of B are a column, bits 8 to 15 the next.

    The sums are kept modulo 2¹⁶, in bits 0 to 15 and 16 to 31 of C.
    """
    first: int16 = 0
    second: int16 = 0
    for k in range(K, name="reduction"):
        a: int8 = A_in[k]
        b: int16 = B_in[k]
        low: int8 = b[0:8]
        high: Int(27) = b >> 8
        pair: Int(27) = (high << 18) + low
        both: Int(36) = a * pair
        product: Int(18) = both[0:18]
        upper: Int(18) = both[18:36]
        # A negative lower product has borrowed from the upper one.
        borrow: UInt(1) = both[17]
        first += product
        second += upper + borrow
        A_out[k] = a
        B_out[k] = b
    word: int32 = 0
    word[0:16] = first
    word[16:32] = second
    C[i, j] = word


def PE_kernel_packed_int4xint8[K: int32, Mt: int32, Nt: int32](
    A_in: int8[K],
    B_in: int8[K],
    A_out: int8[K],
    B_out: int8[K],
    C: int32[Mt, Nt],
    i: index,
    j: index,
):
    """:func:`PE_kernel_packed_int8xint8` of int4: bits 0 to 3 of B are a column, bits 4 to 7 the next."""
    first: int16 = 0
    second: int16 = 0
    for k in range(K, name="reduction"):
        a: int8 = A_in[k]
        b: int8 = B_in[k]
        low: int4 = b[0:4]
        high: Int(17) = b >> 4
        pair: Int(17) = (high << 12) + low
        both: Int(25) = a * pair
        product: Int(12) = both[0:12]
        upper: Int(13) = both[12:25]
        borrow: UInt(1) = both[11]
        first += product
        second += upper + borrow
        A_out[k] = a
        B_out[k] = b
    word: int32 = 0
    word[0:16] = first
    word[16:32] = second
    C[i, j] = word
