"""The search for the least initiation interval with which a body can be scheduled."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from ..explain import recurrence_limit, resource_limit
from ..modulo import Attempt, Scheduler, Times, restore, times_of
from ..placing.room import is_unit

PART = 8
"""The next interval tried is larger by this part of the last; those between are tried when one is found."""
CLOSE = 64
"""Those between are left out where they are less than this part of the one found."""


@dataclass(frozen=True, slots=True)
class Least:
    """The least interval found for a body.

    Attributes:
        ii: in cycles; above the most that was allowed where none was found.
        why: why no smaller one works: empty for the first that was tried.
        waits: whether that is waits for ports and units, and the recurrences alone would allow a smaller one.
    """

    ii: int
    why: str = ""
    waits: bool = False


def least_interval(
    scheduler: Scheduler,
    ports: dict[Hashable, int],
    first: int,
    most: int | None,
    *,
    near: bool = False,
) -> Least:
    """Schedule a body with the least interval found from ``first`` on.

    Args:
        ports: how many accesses each port takes in a cycle.
        most: no interval above it is of use, so that nothing is searched for where this one fails. None:
            there is always one, for iterations of an interval as long as each of them do not meet.
        near: whether a large interval is hardly less than ``most``, so that those below it are tried first.
    """
    ii, failing, last = first, first - 1, None
    longest: Times | None = None
    if most is not None:
        if first > most or (first < most and not _try(scheduler, ports, most).ok):
            return Least(max(first, most + 1))
        longest = times_of(scheduler.body) if first < most else None
        if near and longest is not None and most >= CLOSE:
            return _close_to(scheduler, ports, first, most, longest)
    while most is None or ii <= most:
        if ii == most and longest is not None:
            restore(scheduler.body, longest)
            break
        result = _try(scheduler, ports, ii)
        if result.ok:
            break
        failing, last = _largest_failing(ii, result), result
        larger = ii + ii // PART
        ii = max(failing + 1, larger if most is None else min(larger, most))
    else:
        return _held(ii, last, scheduler)
    return _between(scheduler, ports, failing, ii, last)


def _close_to(
    scheduler: Scheduler, ports: dict[Hashable, int], first: int, most: int, times: Times
) -> Least:
    """The least interval, looked for from one that works on, in steps that grow."""
    ii, step = most, most // CLOSE
    while ii > first:
        tried = max(first, ii - step)
        result = _try(scheduler, ports, tried)
        if not result.ok:
            restore(scheduler.body, times)
            return _between(scheduler, ports, _largest_failing(tried, result), ii, result)
        ii, times, step = tried, times_of(scheduler.body), 2 * step
    return Least(ii)


def _between(
    scheduler: Scheduler, ports: dict[Hashable, int], failing: int, ii: int, last: Attempt | None
) -> Least:
    """The least interval above one that fails; the body is scheduled with a larger one."""
    tried, times = ii, times_of(scheduler.body)
    while failing + 1 < ii - ii // CLOSE:
        tried = (failing + 1 + ii) // 2
        result = _try(scheduler, ports, tried)
        if result.ok:
            ii, times = tried, times_of(scheduler.body)
        else:
            failing, last = _largest_failing(tried, result), result
    if tried != ii:
        restore(scheduler.body, times)
    return _held(ii, last, scheduler)


def _largest_failing(ii: int, result: Attempt) -> int:
    """The largest interval known to fail when one has."""
    found = result.recurrence
    return ii if found is None else max(ii, found.least_ii - 1)


def _held(ii: int, failed: Attempt | None, scheduler: Scheduler) -> Least:
    """An interval, and what holds it by the attempt that failed with the largest one below it."""
    if failed is None:
        return Least(ii)
    found, body = failed.recurrence, scheduler.body
    if found is not None:
        waits = found.least_ii < ii and found.waits > 0
        return Least(ii, recurrence_limit(ii, found, body), waits)
    uses = scheduler.demand()[failed.resource]
    return Least(ii, resource_limit(ii, failed.resource, body, uses), waits=True)


def _try(scheduler: Scheduler, ports: dict[Hashable, int], ii: int) -> Attempt:
    """One initiation interval: first with as few shared units as it allows, then with more.

    A large body is asked with any number of them before: most intervals that fail, fail so, too.
    """
    needs = {use: count for use, count in scheduler.demand().items() if is_unit(use)}
    tight = {use: -(-count // ii) for use, count in needs.items()}
    result = Attempt(False)
    if needs and scheduler.is_large:
        scheduler.capacity = dict(ports)
        result = scheduler.attempt(ii)
        if not result.ok:
            return result
    for units in (tight, {use: count + 1 for use, count in tight.items()}, {}):
        scheduler.capacity = {**ports, **units}
        result = scheduler.attempt(ii)
        if result.ok or ii == 1 or not scheduler.refused:
            break
    return result
