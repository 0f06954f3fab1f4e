"""``C = A @ B`` of 8-bit integers, of any size: tiles of C in registers, and a panel of B on chip.

A tile of T × T sums takes a column of A and a row of B in each cycle, T² products. The panel of B for a
column of tiles is a cache with two copies: the next one is read while the tiles of this one are
computed. A passes in the order of the tiles, again for each panel; C leaves once. All three lie in
memory as they pass (`s.layout`).
"""

from __future__ import annotations

from dataclasses import dataclass

import allo
from allo.customize import Partition, Schedule
from allo.ir.types import int8, int32

ARRAYS = ("A", "B", "C")
CHANNELS = {"A": "hbm[0]", "B": "hbm[1]", "C": "hbm[2]"}


@dataclass(frozen=True, slots=True)
class Size:
    """``rows`` × ``depth`` times ``depth`` × ``columns``; ``tile``, a side of a tile, divides both."""

    rows: int
    columns: int
    depth: int
    tile: int

    @property
    def products(self) -> int:
        """Products of numbers."""
        return self.rows * self.columns * self.depth

    @property
    def cycles(self) -> int:
        """Cycles that a tile's multipliers need at least."""
        return self.products // self.tile**2


def gemm[M, N, K, T](A: int8[M, K], B: int8[K, N], C: int32[M, N]):
    """A tile of C after the other, down a column of tiles."""
    for tj in range(N // T):
        for ti in range(M // T):
            acc: int32[T, T] = 0
            for k in range(K):
                for i in range(T):
                    for j in range(T):
                        acc[i, j] += A[ti * T + i, k] * B[k, tj * T + j]
            for r in range(T):
                for c in range(T):
                    C[ti * T + r, tj * T + c] = acc[r, c]


def schedule(size: Size) -> Schedule:
    """The design: each array on a channel of its own."""
    tile = size.tile
    s = allo.customize(gemm, instantiate=[size.rows, size.columns, size.depth, tile])
    s.layout(s.A, f"tiled({tile}, 1)")
    s.layout(s.B, f"tiled({size.depth}, {tile})")
    s.layout(s.C, f"tiled({tile}, {tile})")
    panel = s.cache(s.B, "tj", double_buffer=True, lanes=tile)
    for array, dim in ((s.A, 3), (s.B, 4), (s.C, 4), (panel, 2)):
        s.partition(array, partition_type=Partition.Cyclic, dim=dim, factor=tile)
    s.partition(s.acc, dim=0)
    s.pipeline("k")
    s.pipeline("r")
    for name, channel in CHANNELS.items():
        s.place(getattr(s, name), channel)
    return s


__all__ = ["ARRAYS", "CHANNELS", "Size", "gemm", "schedule"]
