"""A convolution of 3 × 3 over an image of several channels, larger than what a chip holds.

The pixels pass once, in order, one in a cycle with all of its channels. Two rows and a window of the
image stay on chip (`s.reuse_at`), and the weights, which are read in front. Each output is a sum of 32
bits, from which the upper part is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import allo
from allo.customize import Partition, Schedule
from allo.ir.types import int8, int32

ARRAYS = ("A", "w", "B")
CHANNELS = {"A": "hbm[0]", "w": "hbm[1]", "B": "hbm[2]"}


@dataclass(frozen=True, slots=True)
class Size:
    """An image of ``height`` × ``width`` pixels with ``channels`` each, and ``filters`` of 3 × 3."""

    height: int
    width: int
    channels: int
    filters: int

    @property
    def cycles(self) -> int:
        """Cycles at a pixel in each."""
        return self.height * self.width


def convolution[H, W, C, F](A: int8[H, W, C], w: int8[F, 3, 3, C], B: int8[H - 2, W - 2, F]):
    """All filters of a pixel at once."""
    k: int8[F, 3, 3, C]
    for f0, r0, c0, d0 in allo.grid(F, 3, 3, C):
        k[f0, r0, c0, d0] = w[f0, r0, c0, d0]
    for y, x in allo.grid(H - 2, W - 2):
        for f in range(F):
            total: int32 = 0
            for r, c, d in allo.reduction(3, 3, C):
                total += A[y + r, x + c, d] * k[f, r, c, d]
            B[y, x, f] = total >> 8


def schedule(size: Size) -> Schedule:
    """The design: image, weights and result on a channel each."""
    s = allo.customize(
        convolution, instantiate=[size.height, size.width, size.channels, size.filters]
    )
    rows = s.reuse_at(s.A, "y")
    window = s.reuse_at(rows, "x")
    s.partition(rows, dim=1)
    s.partition(rows, dim=3)
    s.partition(window, dim=0)
    s.partition(s.k, dim=0)
    s.partition(s.A, partition_type=Partition.Cyclic, dim=3, factor=size.channels)
    s.partition(s.B, partition_type=Partition.Cyclic, dim=3, factor=size.filters)
    s.pipeline("x")
    s.pipeline("d0")
    for name, channel in CHANNELS.items():
        s.place(getattr(s, name), channel)
    return s


__all__ = ["ARRAYS", "CHANNELS", "Size", "convolution", "schedule"]
