"""Builds the designs that the model does not know, within a share of the time."""

from __future__ import annotations

import copy
from math import ceil

from ..apply import Step, StepFailed, accepted, apply, plain_steps
from ..budget import Built, excess_share
from ..model.kernel import Nest
from .builder import Builder
from .hoist import hoisted, steps_of_loops
from .skewed import FACTORS, steps_of_front, steps_of_windows, waiting

SHARE, TRIES = 0.4, 3
"""Share of the time until which they are tried first; how many intervals of one are tried."""


def try_hoisted(search: Builder, share: float | None = None) -> None:
    """Pipelines around whole loops; where a design is too large, with more cycles between iterations.

    Args:
        share: of the time of the search, after which none is begun; ``SHARE`` by default.
    """
    until = (SHARE if share is None else share) * search.asked.seconds
    for loops in hoisted(search.kernel):
        interval = 1
        for _ in range(TRIES):
            most = until - search.elapsed
            steps = steps_of_loops(search.kernel, loops, interval)
            if most <= 0 or not steps:
                break
            built = _tried(search, steps, most)
            if built is None or built in search.good:
                break
            interval *= 1 + ceil(excess_share(search.asked.limits, built.report))


def try_fronts(search: Builder) -> None:
    """Nests that wait for neighbours as wavefronts, one nest after the other, each as it is fastest."""
    nests: list[Nest] = []
    fronts: list[Step] = []
    for nest in waiting(search.kernel):
        made: list[tuple[int, list[Step]]] = []
        for factor in FACTORS:
            own = steps_of_front(nest, factor)
            others = [
                step
                for step in plain_steps(search.kernel)
                if step.nest not in (nest.number, *(n.number for n in nests))
            ]
            banks = steps_of_windows(search.kernel, [*nests, nest])
            built = _whole(
                search, [*fronts, *own, *others, *banks], search.asked.seconds - search.elapsed
            )
            if built is not None and built in search.good:
                made.append((built.cycles, own))
        if made:
            nests.append(nest)
            fronts += min(made, key=lambda found: found[0])[1]


def _whole(search: Builder, steps: list[Step], most: float) -> Built | None:
    """A design with all of the steps; None where one is refused, or the time is used up."""
    if most <= 0:
        return None
    trial = copy.copy(search.given)
    try:
        apply(trial, steps)
    except StepFailed:
        return None
    return search.keep(steps, None, trial, most)


def _tried(search: Builder, steps: list[Step], most: float) -> Built | None:
    """A design with those of the steps that are not refused; None where it takes too long, or is known."""
    trial, kept = accepted(search.given, steps)
    if not any(step.primitive == "pipeline" for step in kept) or repr(kept) in search.seen:
        return None
    search.seen.add(repr(kept))
    return search.keep(kept, None, trial, most)
