"""Planted faults of arrays in memory."""

from __future__ import annotations

from . import Fault

MEMORY = [
    Fault(
        "layout_keeps_the_order",
        "boundary",
        "allo.dialects.boundary.layouts",
        "np.ascontiguousarray(cells.transpose([*reversed(range(rank)), *inner]))",
        "cells.reshape([*reversed(cells.shape[:rank]), *cells.shape[rank:]])",
        "elements of a transposed argument are put in the order of the memory",
        ("jit",),
        "from memory",
    ),
]
