"""The largest devices of the families, and whether a design fits in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_NAMES = {
    "lut": "lookup tables",
    "ff": "flip-flops",
    "dsp": "multiplier blocks",
    "bram": "blocks of RAM (18 kbit)",
    "uram": "blocks of RAM (288 kbit)",
}
USERS = 3
"""How many of the largest users a message names."""


@dataclass(frozen=True, slots=True)
class Part:
    """A device and what it has."""

    name: str
    resources: Mapping[str, int]


PARTS: dict[str, Part] = {
    "xcup": Part(
        "U280 (xcu280)",
        {"lut": 1_303_680, "ff": 2_607_360, "dsp": 9_024, "bram": 4_032, "uram": 960},
    ),
    "xc7": Part(
        "XC7VX690T", {"lut": 433_200, "ff": 866_400, "dsp": 3_600, "bram": 2_940, "uram": 0}
    ),
    "ecp5": Part("LFE5U-85F", {"lut": 83_640, "ff": 83_640, "dsp": 156, "bram": 208, "uram": 0}),
}
"""By family, the largest part that its users are likely to have."""

LARGE_TEXT = {"xcup": 4_000_000, "xc7": 1_500_000, "ecp5": 100_000}
"""Characters of a design's text above which a build itself sees whether it fits."""


def excess(
    device: str, total: Mapping[str, int], users: Mapping[str, Mapping[str, int]]
) -> list[str]:
    """A sentence for each resource of which a design takes more than the device has.

    Args:
        device: the family.
        total: what the design takes.
        users: what its parts take, by a name that a reader knows.
    """
    part = PARTS.get(device)
    if part is None:
        return []
    return [
        f"The design takes about {total[kind]:,} {name} and a {part.name} has {there:,}: "
        f"{total[kind] - there:,} too many ({total[kind] / max(1, there):.1f} times as many). "
        f"Its largest users are {largest(kind, users)}."
        for kind, name in _NAMES.items()
        if total.get(kind, 0) > (there := part.resources[kind])
    ]


def largest(kind: str, users: Mapping[str, Mapping[str, int]]) -> str:
    """The users of a resource that take most of it, with how much."""
    ordered = sorted(users.items(), key=lambda user: -user[1].get(kind, 0))[:USERS]
    return ", ".join(f"{name} ({cost[kind]:,})" for name, cost in ordered if cost.get(kind))
