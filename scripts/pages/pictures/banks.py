"""In which bank of a memory each element of a partitioned array lies."""

from __future__ import annotations

import numpy as np

import allo
from allo.dialects._mlir import ir
from allo.dialects.core.partition import ArrayLayout, Partition, layout_of
from allo.ir.types import int32

from .svg import COLOURS, box, page, words

N, FACTOR = 16, 4
CELL, ROW, GAP, HEAD = 34, 20, 18, 40


def scale(A: int32[N], B: int32[N]):
    for i in range(N):
        B[i] = 3 * A[i]


def partitions() -> str:
    """One bank, block, cyclic and complete; what an iteration of four copies reads is marked."""
    parts: list[str] = [
        words(4, 14, "A: int32[16], read four at a time: which bank has which element")
    ]
    top, width = 24.0, 0.0
    for kind in (None, Partition.Block, Partition.Cyclic, Partition.Complete):
        layout, cycles = _partitioned(kind)
        name = (
            "no partition"
            if kind is None
            else f"{kind.name}" + (f", factor={FACTOR}" if kind is not Partition.Complete else "")
        )
        parts.append(words(4, top + 14, f"{name}: the loop takes {cycles} cycles"))
        high, wide = _banks(parts, layout, top + 22)
        top, width = top + 22 + high + 12, max(width, wide)
    return page(max(width, 560), top, parts, "Banks of a partitioned array")


def _partitioned(kind: Partition | None) -> tuple[ArrayLayout, int]:
    """The layout of A in the module of the schedule, and the cycles of a simulated run."""
    s = allo.customize(scale)
    s.unroll("i", factor=FACTOR)
    s.pipeline("i")
    if kind is not None:
        factor = 0 if kind is Partition.Complete else FACTOR
        for array in (s.A, s.B):
            s.partition(array, partition_type=kind, dim=1, factor=factor)
    module = s.build(target="verilog", simulator="jit")
    module(np.arange(N, dtype=np.int32), np.zeros(N, np.int32))
    function = next(op for op in s.module.body.operations if op.name.value == scale.__name__)
    return layout_of(ir.MemRefType(function.arguments[0].type)), module.cycles


def _banks(parts: list[str], layout: ArrayLayout, top: float) -> tuple[float, float]:
    """Draw the banks side by side; the height and the width of them."""
    banks: dict[int, list[int]] = {}
    for element in range(N):
        banks.setdefault(layout.locate([element])[0], []).append(element)
    x, tall = 8.0, 1
    for elements in banks.values():
        rows = -(-len(elements) // 8) if len(banks) == 1 else len(elements)
        across = 8 if len(banks) == 1 else 1
        for at, element in enumerate(elements):
            fill = COLOURS[1] if element < FACTOR else COLOURS[0]
            left, y = x + at % across * CELL, top + at // across * ROW
            parts += [box(left, y, CELL - 2, ROW - 2, fill)]
            parts.append(words(left + CELL / 2 - 1, y + 13, str(element), anchor="middle"))
        x += across * CELL + (4 if len(banks) == N else GAP)
        tall = max(tall, rows)
    return tall * ROW, x
