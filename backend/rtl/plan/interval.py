"""The search for the least initiation interval with which a body can be scheduled."""

from __future__ import annotations

from collections.abc import Hashable

from .explain import recurrence_limit, resource_limit
from .modulo import Attempt, Scheduler

PART = 8
"""The next interval tried is larger by this part of the last; those between are tried when one is found."""


def least_interval(
    scheduler: Scheduler, ports: dict[Hashable, int], first: int, most: int
) -> tuple[int, str]:
    """Schedule a body with the least interval found from ``first`` on.

    Args:
        ports: how many accesses each port takes in a cycle.
        most: no interval above it is tried.

    Returns:
        The interval in cycles, above ``most`` where none was found, and why no smaller one works: empty for
        the first.
    """
    ii, failing, why = first, first - 1, ""
    while ii <= most:
        result = _try(scheduler, ports, ii)
        if result.ok:
            break
        failing, why = _next_after(ii, result, scheduler)
        ii = max(failing + 1, min(ii + ii // PART, most))
    tried = ii
    while ii <= most and failing + 1 < ii:
        tried = (failing + 1 + ii) // 2
        result = _try(scheduler, ports, tried)
        if result.ok:
            ii = tried
        else:
            failing, why = _next_after(tried, result, scheduler)
    if tried != ii:
        _try(scheduler, ports, ii)
    return ii, why


def _next_after(ii: int, result: Attempt, scheduler: Scheduler) -> tuple[int, str]:
    """The largest interval known to fail when one has, and why the next one is needed."""
    found, body = result.recurrence, scheduler.body
    if found is not None:
        failing = max(ii, found.least_ii - 1)
        return failing, recurrence_limit(failing + 1, found, body)
    uses = scheduler.demand()[result.resource]
    return ii, resource_limit(ii + 1, result.resource, body, uses)


def _try(scheduler: Scheduler, ports: dict[Hashable, int], ii: int) -> Attempt:
    """One initiation interval: first with as few shared units as it allows, then with more."""
    needs = {use: count for use, count in scheduler.demand().items() if is_unit(use)}
    tight = {use: -(-count // ii) for use, count in needs.items()}
    result = Attempt(False)
    for units in (tight, {use: count + 1 for use, count in tight.items()}, {}):
        scheduler.capacity = {**ports, **units}
        result = scheduler.attempt(ii)
        if result.ok or ii == 1 or not needs:
            break
    return result


def is_unit(use: Hashable) -> bool:
    """Whether a resource is a unit that operations may share."""
    return isinstance(use, tuple) and use[0] == "unit"
