"""A stream link between two devices: bandwidth and latency, and what they are in cycles of a design."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from allo.errors import AlloError


class LinkError(AlloError):
    """A link that carries nothing, or arrives before it departs."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link in one direction.

    Attributes:
        name: what it is.
        bandwidth: bytes a second.
        latency: seconds from a word's departure to its arrival.
    """

    name: str
    bandwidth: float
    latency: float


HANDOVER = 4
"""Cycles from a put to the get behind it, without those on the line, at clocks from 150 to 200 MHz."""
SHORTEST = 5
"""The shortest latency of a link."""


@dataclass(frozen=True, slots=True)
class Pace:
    """A link in cycles: a word every ``interval``; a word can be got ``latency`` after it was put.

    The shortest latency is :data:`SHORTEST`.
    """

    interval: int
    latency: int

    @property
    def wait(self) -> int:
        """Cycles that a word is on the line."""
        return max(SHORTEST, self.latency) - HANDOVER


AURORA_100G = Link("100 Gb/s, 0.5 us", 12.5e9, 0.5e-6)
"""A QSFP28 port of an Alveo card with Aurora 64B/66B: up to 100 Gb/s a port (AMD XD099, Aurora kernel
tutorial); a U280 has two. The latency is an assumption, with room for clock crossings: AMD states 37 to 41
cycles of the user clock through a pair of Aurora 8B/10B cores (PG046), without the cable."""
ETHERNET_10G = Link("10 Gb/s, 2 us", 1.25e9, 2e-6)
"""Ten-gigabit Ethernet through a switch; the latency is an assumption."""


def check_exact(report: Any) -> None:
    """Refuse a design whose links do not run a cycle an iteration, so that they would be slower than said.

    Args:
        report: the ``DesignReport`` of a design with links.

    Raises:
        LinkError: naming the end of the link and its interval.
    """
    for function in report.functions:
        if not function.name.startswith(("depart", "arrive")):
            continue
        for loop in function.loops:
            if loop.ii != 1:
                raise LinkError(
                    f"The end {function.name} of a link takes {loop.ii} cycles an iteration at this clock.",
                    help="build for a clock of at most 200 MHz, at which a link is exact.",
                )


def pace_of(link: Link, clock_mhz: float, word_bytes: int) -> Pace:
    """The link at a design's clock, in words of so many bytes.

    The interval is rounded up to whole cycles, so the design's link is never faster than the real one.

    Raises:
        LinkError: the link has no bandwidth, or its latency is negative.
    """
    if not (math.isfinite(link.bandwidth) and link.bandwidth > 0):
        raise LinkError(
            f"The link {link.name!r} has a bandwidth of {link.bandwidth:g} bytes a second.",
            help="give it one above 0.",
        )
    if not (math.isfinite(link.latency) and link.latency >= 0):
        raise LinkError(
            f"The link {link.name!r} has a latency of {link.latency:g} seconds.",
            help="give it one of 0 or more.",
        )
    cycles_of_word = word_bytes * clock_mhz * 1e6 / link.bandwidth
    return Pace(max(1, math.ceil(cycles_of_word - 1e-9)), round(link.latency * clock_mhz * 1e6))
