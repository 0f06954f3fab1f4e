"""Programs that are autoscheduled: random budgets, devices and objectives.

They are made where :data:`AUTOSCHEDULED` is asked for alone, from choices of their own, so every other
program stays as it is.
"""

from __future__ import annotations

import random
from typing import Any

from allo.backend.devices import families

from .program import Program

AUTOSCHEDULED = "autoscheduled"
"""The feature of these programs, for ``scripts/fuzz --only``."""
NESTS = 0.5
"""How many of them are affine nests, of which most can be chosen; the others are of any kind."""
_CARD = "u280"
ON_CARD = 0.7
"""How many are for a card; the others are for a family of devices."""
_CLOCKS = (100.0, 200.0, 200.0, 300.0)
_OBJECTIVES = ("cycles", "cycles", "cycles", "area", "throughput")


def ask_for_schedule(program: Program, rng: random.Random) -> None:
    """Give a program what its search is asked for, and builds without a limit or a device of their own."""
    if program.checked or program.deadlock:
        return
    # The order of a sum is that of the schedule, which a copy would not have.
    program.copied, program.edited = False, ""
    kept = ("subnormals", "overlap_loops", "configs", "check_dependences")
    program.options = {name: program.options[name] for name in kept if name in program.options}
    program.searched = {
        "device": _CARD if rng.random() < ON_CARD else rng.choice(families()),
        "clock_mhz": rng.choice(_CLOCKS),
        "objective": rng.choice(_OBJECTIVES),
        "seconds": rng.choice((0.3, 0.6, 1.2)),
        "reassociate": rng.random() < 0.4,
        **_limits(rng),
    }
    program.features = [f for f in program.features if f not in ("copies", "edited sources")]
    program.features.append(AUTOSCHEDULED)


def _limits(rng: random.Random) -> dict[str, Any]:
    """Limits of any size, of one kind or another."""
    found: dict[str, Any] = {}
    kinds = (("max_dsp", 0.7, 1, 11), ("max_lut", 0.3, 9, 18), ("max_bram", 0.15, 2, 9))
    for name, share, least, most in kinds:
        if rng.random() < share:
            found[name] = int(2 ** rng.uniform(least, most))
    return found
