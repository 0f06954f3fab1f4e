# mypy: ignore-errors
"""Matrix products on a tile of multiply-accumulate cells.

A tile of ``Mt × Nt`` results stands still while the rows of A and the columns of B pass by, one
step of k at a time: with the default schedule every cell works in every cycle.
"""

from __future__ import annotations

import allo
from allo.ir.types import index, int32

from ._defaults import scheduled_by


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


def systolic_tile[TyA, TyB, TyC, K: int32, Mt: int32, Nt: int32](
    A: TyA[Mt, K], B: TyB[K, Nt], C: TyC[Mt, Nt]
):
    """``C = A · B`` for one tile; each step of k updates all ``Mt × Nt`` cells."""
    cells: TyC[Mt, Nt]
    for i0, j0 in allo.grid(Mt, Nt, name="clear"):
        cells[i0, j0] = 0
    for k in range(K, name="PE"):
        for i, j in allo.grid(Mt, Nt):
            cells[i, j] += A[i, k] * B[k, j]
    for i1, j1 in allo.grid(Mt, Nt, name="data_drain"):
        C[i1, j1] = cells[i1, j1]


def systolic[TyA, TyB, TyC, M: int32, K: int32, N: int32, Mt: int32, Nt: int32](
    A: TyA[M, K], B: TyB[K, N], C: TyC[M, N]
):
    """``C[M, N] = A[M, K] · B[K, N]`` in tiles of ``Mt × Nt``; the last ones may be ragged."""
    local_A: TyA[Mt, K]
    local_B: TyB[K, Nt]
    local_C: TyC[Mt, Nt]
    for mi, ni in allo.grid((M + Mt - 1) // Mt, (N + Nt - 1) // Nt, name="outer_tile"):
        for ak, ai in allo.grid(K, Mt, name="load_A"):
            if mi * Mt + ai < M:
                local_A[ai, ak] = A[mi * Mt + ai, ak]
            else:
                local_A[ai, ak] = 0
        for bk, bj in allo.grid(K, Nt, name="load_B"):
            if ni * Nt + bj < N:
                local_B[bk, bj] = B[bk, ni * Nt + bj]
            else:
                local_B[bk, bj] = 0
        systolic_tile[TyA, TyB, TyC, K, Mt, Nt](local_A, local_B, local_C)
        for sj, si in allo.grid(Nt, Mt, name="store_C"):
            if mi * Mt + si < M and ni * Nt + sj < N:
                C[mi * Mt + si, ni * Nt + sj] = local_C[si, sj]


def schedule_systolic(s):
    """Cells of their own for every result of a tile, a step of k each cycle.

    Of the packed products too: words are unpacked and packed at one a cycle.

    Raises:
        ValueError: the schedule is of another function.
    """
    top = s.top_func_name
    tile = _function(s, "systolic_tile")
    product = _function(s, "systolic", but="systolic_tile")
    if product is None or (top != product and not top.startswith("packed_")):
        raise ValueError(f"Cannot apply `schedule_systolic` to function: {top}")
    s.partition(f"{tile}:cells")
    s.partition(f"{product}:local_A", dim=1)
    s.partition(f"{product}:local_B", dim=2)
    for loop in ("ai", "bj", "si"):
        s.pipeline(f"{product}:{loop}")
    for loop in ("i0", "k", "j1"):
        s.pipeline(f"{tile}:{loop}")
    packed = _function(s, "packed_product")
    if packed:
        loops = s.get_loops(packed)
        for band, loop in (("unpack_A", "k"), ("unpack_B", "j"), ("pack_C", "j")):
            s.pipeline(loops[band][loop])
    return s


def _function(s, prefix, but="-"):
    names = [n for n in s.func_args if n.startswith(prefix) and not n.startswith(but)]
    return names[0] if names else None


scheduled_by(systolic, schedule_systolic)
