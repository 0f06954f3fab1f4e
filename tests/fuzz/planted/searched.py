"""Planted faults of the search for a schedule."""

from __future__ import annotations

from . import Fault

AUTOSCHEDULED = "autoscheduled"
"""The feature of :mod:`..generator.searched`, which imports the compiler, and so comes after the fault."""

SEARCHED = [
    Fault(
        "trees_unasked",
        "search",
        "allo.explore.api",
        "        reassociate,\n        max_cycles,",
        "        True,\n        max_cycles,",
        "a search adds floats up in their order where it may not take another",
        ("cpu",),
        AUTOSCHEDULED,
    ),
    Fault(
        "limit_unheld",
        "search",
        "allo.explore.budget",
        "if limit is not None and taken > limit:",
        "if limit is not None and taken > 4 * limit:",
        "what a search gives is within its limits",
        ("cpu",),
        AUTOSCHEDULED,
    ),
]
