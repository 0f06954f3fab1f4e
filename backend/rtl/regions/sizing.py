"""The smallest FIFOs with which a region takes no longer than with FIFOs that are never full.

Every candidate is a whole run of the model, so what is found is what the hardware takes with these
depths, and a design with them cannot deadlock in the run that was followed: it is that run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt

import numpy as np

from allo.dialects.diagnostics import DeadlockError
from allo.dialects.reports.network import base_name
from allo.dialects.reports.sizing import SizedFifo, Sizing

from .follow.instances import MANY
from .native import Longs
from .predict import RegionModel

Groups = list[list[int]]
"""FIFOs that have one depth."""
MOST_PASSES = 4
"""Passes over all FIFOs at most: a smaller one may let another one be so, where issues wait for phases."""
FEW = 2
"""Words that most FIFOs need at most: tried before a search between one and all of them."""


def size(model: RegionModel, loss: float, same: Callable[[str, str], object]) -> Sizing:
    """Find the smallest depths.

    Args:
        loss: by how much the run may take longer than with FIFOs that are never full, 0.02 for 2 %.
        same: of a region and a FIFO's name what says its depth; equal for those that have one depth.

    Raises:
        DeadlockError: no process can go on, however deep the FIFOs are.
    """
    return _Search(model, loss, same).run()


class _Search:
    def __init__(self, model: RegionModel, loss: float, same: Callable[[str, str], object]) -> None:
        self._model = model
        self._loss = loss
        self._places = model.build.fifos
        self.runs = 0
        found: dict[object, list[int]] = {}
        for number, place in enumerate(self._places):
            if not place.outside:
                found.setdefault(same(place.region, place.name), []).append(number)
        self._groups: Groups = list(found.values())

    def run(self) -> Sizing:
        """Search."""
        model = self._model
        before = self._cycles(model.depths, 0)
        endless = np.full(len(self._places), MANY, np.int64)
        unbounded = self._cycles(endless, 0)
        if unbounded is None:
            raise DeadlockError(
                f"The processes of {model.build.name} wait for each other, however deep the FIFOs "
                f"are: {model.waits_for()}.",
                help="one of them has to put before it gets, or to get fewer words.",
            )
        _, words, wanted = model.build.engine.fills()
        limit = int(unbounded * (1 + self._loss))
        depths = endless.copy()
        for group in self._groups:
            depths[group] = max(1, *(int(wanted[n]) for n in group))
        for low in (1, 2):
            smallest = np.minimum(depths, low)
            smallest[[n for n, place in enumerate(self._places) if place.outside]] = MANY
            if self._fits(smallest, limit):
                depths = smallest
                break
        for number in range(MOST_PASSES):
            if not self._shrink(depths, limit, again=number > 0):
                break
        cycles = self._cycles(depths, 0)
        assert cycles is not None
        fifos = tuple(
            SizedFifo(
                self._places[group[0]].region,
                self._places[group[0]].name,
                self._places[group[0]].width,
                len(group),
                int(model.depths[group[0]]),
                int(depths[group[0]]),
                int(sum(words[n] for n in group)),
            )
            for group in self._groups
        )
        return Sizing(cycles, unbounded, before, fifos, self.runs)

    def _shrink(self, depths: Longs, limit: int, again: bool) -> bool:
        """Make FIFOs smaller, arrays of them as a whole and then each by itself; whether any is.

        Args:
            again: most of them are as small as they can be.
        """
        arrays: dict[tuple[str, str], list[int]] = {}
        for group in self._groups:
            place = self._places[group[0]]
            arrays.setdefault((place.region, base_name(place.name)), []).extend(group)
        smaller = False
        each = [self._groups] if len(arrays) < len(self._groups) else []
        for known, groups in ((again, list(arrays.values())), *((True, g) for g in each)):
            groups.sort(key=lambda g: -sum(int(depths[n]) * self._places[n].width for n in g))
            for group in groups:
                smaller |= self._shrink_one(depths, group, limit, by_one=known)
        return smaller

    def _shrink_one(self, depths: Longs, group: Sequence[int], limit: int, *, by_one: bool) -> bool:
        """Find the smallest depth of a group; ``by_one``: a step of one is tried first."""
        highest = max(int(depths[n]) for n in group)
        low, high = 1, highest
        before = depths[group].copy()
        if high == 1:
            return False
        first = middle = high - 1 if by_one else min(FEW, isqrt(high))
        while low < high:
            depths[group] = np.minimum(before, middle)
            if self._fits(depths, limit):
                high = middle
            elif by_one and middle == first:
                break
            else:
                low = middle + 1
            middle = isqrt(low * high)  # most need few of the words that they would hold at most
        depths[group] = np.minimum(before, high)
        return high < highest

    def _cycles(self, depths: Longs, limit: int) -> int | None:
        self.runs += 1
        return self._model.cycles(depths, limit)

    def _fits(self, depths: Longs, limit: int) -> bool:
        found = self._cycles(depths, limit + 8)
        return found is not None and found <= limit
