"""Arrays that come in while the core runs: how long it waits for elements that are not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from allo.backend.rtl.design import Needs


@dataclass(frozen=True, slots=True)
class Coming:
    """An array that is copied in early.

    Attributes:
        took: cycles of its copy.
        latency: cycles until its first words are there.
    """

    array: str
    took: float
    latency: int


@dataclass(frozen=True, slots=True)
class Late:
    """What such arrays cost.

    Attributes:
        waits: cycles that the core stands still.
        whole: when the last element is there.
    """

    waits: float
    whole: float


def waits_for(
    needs: Needs,
    coming: Mapping[str, Sequence[Coming]],
    before: Mapping[str, float],
    begins: float,
) -> Late:
    """What the core waits, whose first cycle is ``begins``.

    Where it is not known when it asks for an element, the core waits for all of them first.

    Args:
        needs: those of the design.
        coming: the arrays of each master, one after the other.
        before: cycles for which a master is busy before.
    """
    waits = whole = 0.0
    for bundle, some in coming.items():
        busy = before[bundle]
        for each in some:
            known = needs.get(each.array)
            wanted = np.ones(1) if known is None else known
            count = len(wanted)
            there = busy + each.latency + each.took * np.arange(1, count + 1) / count
            busy += each.took
            waits = max(waits, float((there - begins - wanted).max()))
            whole = max(whole, busy + each.latency)
    return Late(waits, whole)


__all__ = ["Coming", "Late", "waits_for"]
