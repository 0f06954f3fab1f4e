"""Random options of a build, from choices of their own: the text of a program does not depend on them."""

from __future__ import annotations

import random
from typing import Any

from .program import Program

DRAWN = 0.6
"""How many of all programs are built with options other than the defaults."""
BUILD = ("check_dependences", "subnormals")
"""Options of every target; the others are those of hardware."""
OUTSIDE_OPTIONS = ("interface", "stalls")
"""Options of what surrounds a design."""
DEVICES = ("xcup", "xc7", "ecp5", "generic")
_CLOCKS = (1, 25, 100, 300, 450, 500, 550, 600)
_KINDS = ("memory", "m_axi", "m_axi", "axis")


def draw_options(program: Program, rng: random.Random) -> dict[str, Any]:
    """Options of ``build``; empty for the programs that have the defaults.

    ``check_bounds`` and ``reassociate`` are attributes of the program, which this may set.
    """
    if rng.random() >= DRAWN:
        return {}
    found: dict[str, Any] = {
        "clock_mhz": rng.choice(_CLOCKS) if rng.random() < 0.4 else rng.randint(1, 600)
    }
    if rng.random() < 0.7:
        found["device"] = rng.choice(DEVICES)
    if rng.random() < 0.3:
        found["overlap_loops"] = False
    if rng.random() < 0.25:
        found["max_dsp"] = rng.choice((0, 1, 2, 4, 16, 64))
    if rng.random() < 0.2:
        found["check_dependences"] = True
    if rng.random() < 0.15:
        found["subnormals"] = "flush"
    program.reassociated |= rng.random() < 0.25
    outside = rng.random() < 0.15
    program.checked |= not outside and rng.random() < 0.15
    if outside and not (program.checked or "check_dependences" in found):
        found |= _interface(program, rng)
    return found


def _interface(program: Program, rng: random.Random) -> dict[str, Any]:
    """The interface of each array: one of a board or RAM ports; and how often its buses stall."""
    one = rng.choice((None, None, *_KINDS))
    kinds = {a.name: one or rng.choice(_KINDS) for a in program.arguments if a.shape}
    if not kinds:
        return {}
    if rng.random() < 0.5:
        kinds["return"] = rng.choice(("s_axilite", "port"))
    return {"interface": kinds, "stalls": rng.choice((0.0, 0.1, 0.5))}
