"""Systolic products of packed words: ``P`` narrow numbers in one, as wide memory ports deliver them."""

from __future__ import annotations

import allo
from allo.ir.types import ConstExpr, Int, int4, int8, int32

from ._checks import quotient
from ._defaults import scheduled_by
from .tiles import schedule_systolic, systolic, systolic_tile_packed


def makes_pairs(TyA: Int, TyB: Int, TySum: Int, Mt: int, Nt: int, P: int) -> bool:
    """Whether a product has a packed cell, and its tiles are of whole words of pairs."""
    return (
        TyA == int8
        and TyB in (int8, int4)
        and TySum.bits <= 32
        and P % 2 == 0
        and Mt % P == 0
        and Nt % P == 0
    )


def half_bits(TySum: Int, TyC: Int) -> int:
    """The bits in which a packed cell sums, which are at least those that are kept."""
    return 16 if min(TySum.bits, TyC.bits) <= 16 else 32


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
    with allo.meta_if(makes_pairs(TyA, TyB, TySum, Mt, Nt, P)):
        systolic_of_pairs[TyB, TySum, TyC, M, K, N, Mt, Nt, P](A, B, C)
    with allo.meta_else():
        packed_by_parts[TyA, TyB, TySum, TyC, M, K, N, Mt, Nt, P](A, B, C)


def systolic_of_pairs[
    TyB: Int,
    TySum: Int,
    TyC: Int,
    M: int32,
    K: int32,
    N: int32,
    Mt: int32,
    Nt: int32,
    P: int32,
](A: Int(8 * P)[M // P, K], B: Int(TyB.bits * P)[K, N // P], C: Int(TyC.bits * P)[M // P, N]):
    """:func:`packed_product` on cells that make two columns each; a word is read or written a cycle."""
    half: ConstExpr[int32] = half_bits(TySum, TyC)
    local_A: int8[Mt, K]
    local_B: Int(2 * TyB.bits)[K, Nt // 2]
    local_C: Int(2 * half)[Mt, Nt // 2]
    for mi, ni in allo.grid((M + Mt - 1) // Mt, (N + Nt - 1) // Nt, name="outer_tile"):
        if ni == 0:
            for ak, ai in allo.grid(K, Mt // P, name="load_A"):
                rows: Int(8 * P) = 0
                if mi * (Mt // P) + ai < M // P:
                    rows = A[mi * (Mt // P) + ai, ak]
                with allo.meta_for(P) as p:
                    local_A[ai * P + p, ak] = rows[p * 8 : (p + 1) * 8]
        for bk, bj in allo.grid(K, Nt // P, name="load_B"):
            columns: Int(TyB.bits * P) = 0
            if ni * (Nt // P) + bj < N // P:
                columns = B[bk, ni * (Nt // P) + bj]
            with allo.meta_for(P // 2) as q:
                local_B[bk, bj * (P // 2) + q] = columns[q * 2 * TyB.bits : (q + 1) * 2 * TyB.bits]
        systolic_tile_packed[int8, Int(2 * TyB.bits), Int(2 * half), K, Mt, Nt // 2](
            local_A, local_B, local_C
        )
        for sj, si in allo.grid(Nt, Mt // P, name="store_C"):
            word: Int(TyC.bits * P) = 0
            with allo.meta_for(P) as p:
                sums: Int(2 * half) = local_C[si * P + p, sj // 2]
                one: TySum = sums >> half if sj % 2 == 1 else sums
                kept: TyC = one
                word[p * TyC.bits : (p + 1) * TyC.bits] = kept
            if mi * (Mt // P) + si < M // P and ni * Nt + sj < N:
                C[mi * (Mt // P) + si, ni * Nt + sj] = word


def packed_by_parts[
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
    """:func:`packed_product` of any types and tiles: words are taken apart, and put together again."""
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
