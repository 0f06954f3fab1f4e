"""Matrix products on a systolic array of multiply-accumulate cells.

A tile of ``Mt × Nt`` results stands still while the rows of A pass from left to right and the columns
of B from top to bottom, one step of k a cycle: with the default schedule every cell is a process of
its own, and its neighbours are joined to it by FIFOs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import allo
from allo.customize import Schedule
from allo.ir.types import int32
from allo.ir.utils import MockBuffer

from ._defaults import scheduled_by
from .cells import (
    PE_kernel,
    PE_kernel_packed_int4xint8,
    PE_kernel_packed_int4xint8_int32,
    PE_kernel_packed_int8xint8,
    PE_kernel_packed_int8xint8_int32,
)


def _tile(name: str, *, packed: bool) -> Callable[..., Any]:
    """A tile of that name: ``C = A · B``; what leaves the last cells is dropped.

    Cells that are packed make two columns each: the elements of B and C hold two numbers.
    """

    def tile[TyA, TyB, TyC, K: int32, Mt: int32, Nt: int32](
        A: TyA[Mt, K], B: TyB[K, Nt], C: TyC[Mt, Nt]
    ):
        A_fifo: TyA[Mt, Nt + 1, K]
        B_fifo: TyB[Nt, Mt + 1, K]
        A_drain: TyA[Mt]
        B_drain: TyB[Nt]
        for k in range(K, name="data_load"):
            for m in range(Mt):
                A_fifo[m, 0, k] = A[m, k]
            for n in range(Nt):
                B_fifo[n, 0, k] = B[k, n]
        for i, j in allo.grid(Mt, Nt, name="PE"):
            with allo.meta_if(not packed):
                PE_kernel[TyA, TyB, TyC, K, Mt, Nt](
                    A_fifo[i, j], B_fifo[j, i], A_fifo[i, j + 1], B_fifo[j, i + 1], C, i, j
                )
            with allo.meta_elif(TyB.bits == 16 and TyC.bits == 32):
                PE_kernel_packed_int8xint8[K, Mt, Nt](
                    A_fifo[i, j], B_fifo[j, i], A_fifo[i, j + 1], B_fifo[j, i + 1], C, i, j
                )
            with allo.meta_elif(TyB.bits == 8 and TyC.bits == 32):
                PE_kernel_packed_int4xint8[K, Mt, Nt](
                    A_fifo[i, j], B_fifo[j, i], A_fifo[i, j + 1], B_fifo[j, i + 1], C, i, j
                )
            with allo.meta_elif(TyB.bits == 16):
                PE_kernel_packed_int8xint8_int32[K, Mt, Nt](
                    A_fifo[i, j], B_fifo[j, i], A_fifo[i, j + 1], B_fifo[j, i + 1], C, i, j
                )
            with allo.meta_else():
                PE_kernel_packed_int4xint8_int32[K, Mt, Nt](
                    A_fifo[i, j], B_fifo[j, i], A_fifo[i, j + 1], B_fifo[j, i + 1], C, i, j
                )
        for k in range(K, name="data_drain"):
            for m in range(Mt):
                A_drain[m] = A_fifo[m, Nt, k]
            for n in range(Nt):
                B_drain[n] = B_fifo[n, Mt, k]

    tile.__name__ = tile.__qualname__ = name
    return tile


systolic_tile = _tile("systolic_tile", packed=False)
"""``C[Mt, Nt] = A[Mt, K] · B[K, Nt]`` for one tile of cells; what leaves the last ones is dropped.

Template: ``TyA, TyB, TyC, K, Mt, Nt``.
"""

systolic_tile_packed = _tile("systolic_tile_packed", packed=True)
"""``systolic_tile`` of packed cells: an element of B is two columns, one of C their two sums."""


def systolic[TyA, TyB, TyC, M: int32, K: int32, N: int32, Mt: int32, Nt: int32](
    A: TyA[M, K], B: TyB[K, N], C: TyC[M, N]
):
    """``C[M, N] = A[M, K] · B[K, N]`` in tiles of ``Mt × Nt``; the last ones may be ragged.

    A is read once, column by column of a row of tiles, which is the order in which C is written. So
    the C of one product can be streamed to the A of another with as high tiles: ``s.to(s.C, …)``.
    """
    local_A: TyA[Mt, K]
    local_B: TyB[K, Nt]
    local_C: TyC[Mt, Nt]
    for mi, ni in allo.grid((M + Mt - 1) // Mt, (N + Nt - 1) // Nt, name="outer_tile"):
        if ni == 0:
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


def schedule_systolic(s: Schedule) -> Schedule:
    """Every cell of a tile a process, neighbours joined by FIFOs, a step of k each cycle.

    Of the packed products too: words are unpacked and packed at one a cycle.

    Raises:
        ValueError: the schedule is of another function.
    """
    top = s.top_func_name
    tile, cell = _function(s, "systolic_tile"), _function(s, "PE_kernel")
    product = _function(s, "systolic", but="systolic_tile")
    if product is None or tile is None or (top != product and not top.startswith("packed_")):
        raise ValueError(f"Cannot apply `schedule_systolic` to function: {top}")
    s.partition(f"{product}:local_C")
    s.partition(f"{product}:local_A", dim=1)
    s.partition(f"{product}:local_B", dim=2)
    for loop in ("ai", "bj", "si"):
        s.pipeline(f"{product}:{loop}")
    tiles = s.get_loops(product)["outer_tile"]
    s.fuse(tiles["mi"], tiles["ni"])
    s.pipeline(f"{cell}:k")
    stream_tile(s, tile)
    parts = _function(s, "packed_by_parts")
    if parts:
        loops = s.get_loops(parts)
        for band, loop in (("unpack_A", "k"), ("unpack_B", "j"), ("pack_C", "j")):
            s.pipeline(loops[band][loop])
    return s


def check_systolic(s: Schedule) -> bool:
    """Whether the module is one function with one nest, that of a product."""
    return s.systolic


def prepare_systolic(s: Schedule, band: str) -> tuple[MockBuffer, MockBuffer]:
    """Let the first two arguments of a product flow through the cells of its nest; the two FIFO arrays.

    What is left is ``s.unfold``, and ``s.to`` for each of them.
    """
    if not check_systolic(s):
        raise ValueError("prepare_systolic needs a module of one function with one product nest.")
    rows, columns = [name for name, _ in s.get_loops()[band]][:2]
    left, right = (getattr(s, argument.name) for argument in s.func_args[s.top_func_name][:2])
    return s.feed(left, columns), s.feed(right, rows)


def stream_tile(s: Schedule, tile: str) -> None:
    """Let the operands of a tile flow through its cells; ``tile`` is the name of its function."""
    rows, columns = s.func_args[tile][2].shape
    bands = s.get_loops(tile)
    for band in ("data_load", "data_drain"):
        s.pipeline(bands[band]["k"])
    cells = s.unfold(f"{tile}:PE", [0, 1])
    s.to(MockBuffer(tile, "A_fifo"), cells, axis=1, depth=rows + 1)
    s.to(MockBuffer(tile, "B_fifo"), cells, axis=0, depth=columns + 1)


def _function(s: Schedule, prefix: str, but: str = "-") -> str | None:
    names = [n for n in s.func_args if n.startswith(prefix) and not n.startswith(but)]
    return names[0] if names else None


scheduled_by(systolic, schedule_systolic)
