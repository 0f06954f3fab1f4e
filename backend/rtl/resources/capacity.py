"""Whether a design fits into the largest device of a family, and what takes most of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from allo.backend.devices import Part

_NAMES = {
    "lut": "lookup tables",
    "ff": "flip-flops",
    "dsp": "multiplier blocks",
    "bram": "blocks of RAM ({} kbit)",
    "uram": "blocks of RAM (288 kbit)",
}
USERS = 3
"""How many of the largest users a message names."""


def excess(
    part: Part | None, total: Mapping[str, int], users: Mapping[str, Mapping[str, int]]
) -> list[str]:
    """A sentence for each resource of which a design takes more than the device has.

    Args:
        part: the device; None where nothing is too large.
        total: what the design takes.
        users: what its parts take, by a name that a reader knows.
    """
    if part is None:
        return []
    return [
        f"The design takes about {total[kind]:,} {name.format(part.block_kbit)} and a {part.title} has "
        f"{there:,}: {total[kind] - there:,} too many ({total[kind] / max(1, there):.1f} times as many). "
        f"Its largest users are {largest(kind, users)}."
        for kind, name in _NAMES.items()
        if total.get(kind, 0) > (there := part.resources[kind])
    ]


def largest(kind: str, users: Mapping[str, Mapping[str, int]]) -> str:
    """The users of a resource that take most of it, with how much."""
    ordered = sorted(users.items(), key=lambda user: -user[1].get(kind, 0))[:USERS]
    return ", ".join(f"{name} ({cost[kind]:,})" for name, cost in ordered if cost.get(kind))


def excess_of_regions(part: Part, taken: Sequence[Mapping[str, int]]) -> list[str]:
    """A sentence for each region and resource of which a design takes more than the region has."""
    return [
        f"Region {number} of a {part.title} is given about {total[kind]:,} {name.format(part.block_kbit)} "
        f"and has {there:,}: {total[kind] - there:,} too many."
        for number, (total, region) in enumerate(zip(taken, part.regions, strict=True))
        for kind, name in _NAMES.items()
        if total.get(kind, 0) > (there := region[kind])
    ]


def crossed(wires: Sequence[int]) -> list[str]:
    """A sentence that says how many wires pass the borders between regions."""
    told = [f"{count:,} between {low} and {low + 1}" for low, count in enumerate(wires) if count]
    return [f"Wires pass the borders of regions: {', '.join(told)}."] if told else []
