"""Members of a region that wait for nothing but ports, as one process that asks for what they ask together.

Whoever freezes the region freezes all of its members at once, so who of them is served when does not depend
on who freezes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wanted:
    """A port that a member asks for.

    Attributes:
        port: its number among those of the region for which members wait, -1 for any other.
        rank: members with lower ones are served first.
        waits: whether another one may be served in the member's place.
        outer: its number among the ports of who runs the region, -1 for a port that is the region's own.
    """

    port: int = -1
    rank: int = 0
    waits: bool = False
    outer: int = -1


@dataclass(frozen=True, slots=True)
class Asking:
    """A member: the numbers of what it wants by the cycle in which it asks, and its length in cycles."""

    wants: Mapping[int, set[int]]
    cycles: int
    places: Sequence[Wanted]


def together(members: Sequence[Asking]) -> tuple[dict[int, set[int]], int]:
    """What all members ask for outside of their region, by cycle, and when the last one ends."""
    found: dict[int, set[int]] = {}
    times = [sorted(member.wants) for member in members]
    late, done = [0] * len(members), [0] * len(members)
    while left := [n for n, each in enumerate(times) if done[n] < len(each)]:
        at = {n: times[n][done[n]] + late[n] for n in left}
        cycle = min(at.values())
        asking = {
            n: [members[n].places[number] for number in members[n].wants[times[n][done[n]]]]
            for n in left
            if at[n] == cycle
        }
        outer = {place.outer for places in asking.values() for place in places} - {-1}
        if outer:
            found.setdefault(cycle, set()).update(outer)
        for n, places in asking.items():
            if any(place.waits and _is_passed(place, n, asking) for place in places):
                late[n] += 1
            else:
                done[n] += 1
    ends = [member.cycles + more for member, more in zip(members, late, strict=True)]
    return found, max(ends, default=1)


def _is_passed(place: Wanted, member: int, asking: Mapping[int, Sequence[Wanted]]) -> bool:
    """Whether another member that is served first asks for the same port."""
    return any(
        other.port == place.port >= 0 and other.rank < place.rank
        for number, places in asking.items()
        if number != member
        for other in places
    )
