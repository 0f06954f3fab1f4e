"""Nests of several functions in one: what a row needs in front of a sum, or behind it, is done beside it.

trmm adds up rows of B in one function and scales them in another one, which begins when all of them are added
up. In one nest each row is complete in its iteration, and may leave while the next ones are computed.
"""

from __future__ import annotations

from itertools import pairwise

from allo.schedule import Schedule
from allo.schedule.handles import LoopWrapper

from ..apply import Step, accepted
from ..model.kernel import Kernel, Nest
from ..model.read import read_kernel


def has_triangle(kernel: Kernel) -> bool:
    """Whether the bounds of a loop depend on one around it."""
    return any(loop.over is not None for nest in kernel.nests for loop in nest.chain)


def merged(given: Schedule, kernel: Kernel) -> tuple[Kernel, list[Step]]:
    """The kernel with functions absorbed and its nests merged, as far as this is legal, and the steps.

    Nests that the user has applied something to stay; where one of these is left, nothing is merged.
    """
    if any(nest.fixed for nest in kernel.nests):
        return kernel, []
    others = dict.fromkeys(n.function for n in kernel.nests if n.function != kernel.top)
    trial, steps = accepted(given, [Step("absorb", (name,)) for name in others])
    whole = read_kernel(trial) if steps else kernel
    wanted = [
        Step("compute_at", (outermost(first), outermost(second)), optional=True)
        for first, second in pairwise(roots(whole))
    ]
    trial, kept = accepted(given, [*steps, *wanted])
    if len(kept) == len(steps):
        return kernel, []
    return read_kernel(trial), kept


def roots(kernel: Kernel) -> list[Nest]:
    """The nests of the top function that stand in no other one."""
    return [n for n in kernel.nests if n.parent is None and n.function == kernel.top and n.chain]


def outermost(nest: Nest) -> LoopWrapper:
    """The outermost loop of a nest."""
    return LoopWrapper(nest.function, nest.band, nest.chain[0].name)


__all__ = ["has_triangle", "merged", "outermost", "roots"]
