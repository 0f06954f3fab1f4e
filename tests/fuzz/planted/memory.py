"""Planted faults of arrays in memory."""

from __future__ import annotations

from . import Fault

FROM_MEMORY = "from memory"
"""The feature of :mod:`..generator.memory`, which imports the compiler, and so comes after the fault."""
_CPU, _RTL = ("cpu",), ("jit",)

MEMORY = [
    Fault(
        "layout_keeps_the_order",
        "boundary",
        "allo.dialects.boundary.layouts",
        "np.ascontiguousarray(cells.transpose([*reversed(range(rank)), *inner]))",
        "cells.reshape([*reversed(cells.shape[:rank]), *cells.shape[rank:]])",
        "elements of a transposed argument are put in the order of the memory",
        _CPU,
        FROM_MEMORY,
    ),
    Fault(
        "cache_not_filled",
        "schedule",
        "allo.schedule.primitives.arrays.footprint",
        "kept = bool(stores) and not (sure and self._elements(boxes, runs) <= self._union(sure))",
        "kept = bool(stores) and not sure",
        "a buffer that an iteration stores only in part is filled before",
        _CPU,
        FROM_MEMORY,
    ),
    Fault(
        "cache_not_written_back",
        "schedule",
        "allo.schedule.primitives.arrays.cache",
        "    if found.stored:\n",
        "    if found.stored and not found.kept:\n",
        "a buffer that is read and stored is written back",
        _CPU,
        FROM_MEMORY,
    ),
    Fault(
        "one_copy_too_many",
        "rtl overlap",
        "allo.dialects.streams.loops.iterations",
        "least = 0 if first < second else copies if doubled else 1",
        "least = 0 if first < second else copies + 1 if doubled else 1",
        "an iteration fills a buffer when the one that had it before is done",
        _RTL,
        FROM_MEMORY,
    ),
    Fault(
        "strobes_in_front_of_a_run",
        "rtl boards",
        "allo.backend.rtl.interfaces.beside.gearbox",
        "                inside = text.all_of(inside, behind)\n",
        "",
        "bytes in front of what a core stores stay as they are",
        _RTL,
        FROM_MEMORY,
    ),
    Fault(
        "parts_in_another_turn",
        "boundary",
        "allo.backend.sim.buses.image",
        "for n in range(ways)]",
        "for n in reversed(range(ways))]",
        "lines of an array lie on its channels in turn, from the first one",
        _RTL,
        FROM_MEMORY,
    ),
]
