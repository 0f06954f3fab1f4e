"""A program's schedule as a search finds it, and what of the search is wrong beside its results."""

from __future__ import annotations

import time
from typing import Any

import allo
from allo.errors import AlloError

from ..generator.program import Program
from ..generator.values import inputs
from .verdict import is_named

DIFFERED = "differed in"
"""Words of a trace where the search's own check has dropped a design."""


class Unsound(Exception):
    """A search has done what it never may."""


def search(program: Program, schedule: Any) -> tuple[Any, str]:
    """The schedule that is found, and "", or the one given, and why nothing is found.

    The arguments of the search's own check are those of the program's first calls.

    Raises:
        Unsound: a design of the search computed something else, or is not within the limits.
        Exception: what has no name.
    """
    runs = iter(range(1 << 20))
    asked = dict(program.searched)
    options = {n: program.options[n] for n in ("subnormals",) if n in program.options}
    try:
        found = allo.autoschedule(
            schedule,
            cache=False,
            timer=time.process_time,
            inputs=lambda _: inputs(program, next(runs) % program.runs),
            **asked,
            **options,
        )
    except AlloError as error:
        if not is_named(error):
            raise
        return schedule, error.message
    trace = found.trace
    dropped = [words for words in trace.unexplored if DIFFERED in words]
    # Another order of float sums may differ by any share of what they cancel to.
    if dropped and not (asked["reassociate"] and program.has_floats):
        raise Unsound(dropped[0])
    best = next(t for t in trace.tried if t.cycles == trace.cycles)
    for kind in ("dsp", "lut", "bram"):
        limit = asked.get(f"max_{kind}")
        if limit is not None and not any(
            t.cycles == best.cycles and t.resources.get(kind, 0) <= limit for t in trace.tried
        ):
            raise Unsound(f"the design takes more {kind.upper()} than {limit}")
    return found, ""


def is_plain(found: Any) -> bool:
    """Whether a schedule that was found has the cycles of pipelines of the innermost loops."""
    return bool(found.trace.cycles is None or found.trace.cycles == found.trace.plain)
