"""Systolic products of packed words: ``P`` narrow numbers in one, as wide memory ports deliver them."""

from __future__ import annotations

import allo
from allo.ir.types import ConstExpr, Int, int8, int32

from ._checks import quotient
from ._defaults import scheduled_by
from .tiles import schedule_systolic, systolic


def packed_product[
    TyA: Int,
    TyB: Int,
    TySum: Int,
    TyC: Int,
    M: int32,
    K: int32,
    N: int32,
    Mt: int32,
    Nt: int32,
    P: int32,
](
    A: Int(TyA.bits * P)[M // P, K],
    B: Int(TyB.bits * P)[K, N // P],
    C: Int(TyC.bits * P)[M // P, N],
):
    """``C = A · B``; part ``p`` of ``A[i, k]`` is row ``i * P + p``, of ``B[k, j]`` column ``j * P + p``,
    of ``C[i, j]`` row ``i * P + p``. ``P`` divides ``M`` and ``N``. Sums are taken in ``TySum`` and kept
    in ``TyC``.
    """
    _row_words: ConstExpr[int32] = quotient(M, P)
    _column_words: ConstExpr[int32] = quotient(N, P)
    rows: TyA[M, K]
    columns: TyB[K, N]
    products: TySum[M, N]
    for i, k in allo.grid(M // P, K, name="unpack_A"):
        with allo.meta_for(P) as p:
            rows[i * P + p, k] = A[i, k][p * TyA.bits : (p + 1) * TyA.bits]
    for k, j in allo.grid(K, N // P, name="unpack_B"):
        with allo.meta_for(P) as p:
            columns[k, j * P + p] = B[k, j][p * TyB.bits : (p + 1) * TyB.bits]
    systolic[TyA, TyB, TySum, M, K, N, Mt, Nt](rows, columns, products)
    for i, j in allo.grid(M // P, N, name="pack_C"):
        word: Int(TyC.bits * P) = 0
        with allo.meta_for(P) as p:
            kept: TyC = products[i * P + p, j]
            word[p * TyC.bits : (p + 1) * TyC.bits] = kept
        C[i, j] = word


def packed_systolic[
    TyA: Int,
    TyB: Int,
    TyC: Int,
    M: int32,
    K: int32,
    N: int32,
    Mt: int32,
    Nt: int32,
    P: int32,
](
    A: Int(TyA.bits * P)[M // P, K],
    B: Int(TyB.bits * P)[K, N // P],
    C: Int(TyC.bits * P)[M // P, N],
):
    """:func:`packed_product` whose sums are taken in the type of ``C``."""
    packed_product[TyA, TyB, TyC, TyC, M, K, N, Mt, Nt, P](A, B, C)


def packed_int8xint8_systolic[M: int32, K: int32, N: int32, Mt: int32, Nt: int32, P: int32](
    A: Int(P * 8)[M // P, K], B: Int(P * 8)[K, N // P], C: Int(P * 8)[M // P, N]
):
    """:func:`packed_product` of int8 in and out; sums are taken in 32 bits and kept modulo 2⁸."""
    packed_product[int8, int8, int32, int8, M, K, N, Mt, Nt, P](A, B, C)


scheduled_by(packed_systolic, schedule_systolic)
scheduled_by(packed_int8xint8_systolic, schedule_systolic)
