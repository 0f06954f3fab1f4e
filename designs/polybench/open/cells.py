"""A systolic product of matrices: a cell for each element of the result, joined by FIFOs."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import int32
from allo.library import systolic


def schedule_cells(rows: int, columns: int, steps: int) -> Schedule:
    """Cells for a product of ``(rows, steps)`` and ``(steps, columns)``, each a pipeline along the sum."""
    template = [int32, int32, int32, steps, rows, columns]
    s = allo.customize(systolic.systolic_tile, instantiate=template)
    s.partition(s.A, dim=1)
    s.partition(s.B, dim=2)
    s.partition(s.C)
    s.pipeline("PE_kernel:k")
    systolic.stream_tile(s, "systolic_tile")
    return s
