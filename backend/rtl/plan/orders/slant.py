"""Loops whose bounds depend on the loop around them: rows of a triangle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...graph.linear import subtract
from ...graph.nodes import Lin
from ...graph.regions import Level
from ..cycles import bounding

UNBOUNDED = 1 << 40


@dataclass(frozen=True, slots=True)
class Slant:
    """The trips of a loop whose bound depends on the loop around it.

    Attributes:
        most: of all iterations of the loop around.
        followed: the fewest and the most, without its last iteration. From one of its iterations to a later
            one lie the rows of those between and of the earlier one: the last row is none of them.
    """

    most: int
    followed: tuple[int, int]


def slant_of(levels: Sequence[Level], position: int) -> Slant | None:
    """The trips of a loop whose bound depends on the loop around it; None for others.

    That the loop around has constant bounds, that this one is never empty, and that all of its rows start at
    the same counter, is seen to in ``read``.
    """
    level, around = levels[position], levels[position - 1]
    if not position or level.stride is not None or bounding(level) != {around.iv.number}:
        return None
    step = level.iv.stride if level.counts else level.step
    spans = [subtract(ceiling, floor) for ceiling in level.iv.ceilings for floor in level.iv.floors]
    most = min(high for _, high in (span.bounds() for span in spans))
    ends = [[_at(span, around, n) for span in spans] for n in _first_and_last_but_one(around)]
    fewest = min(min(rows) for rows in ends)
    longest = min(max(pair) for pair in zip(*ends, strict=True))
    followed = max(1, fewest // step + 1), max(1, longest // step + 1)
    return Slant(max(1, most // step + 1), followed)


def _first_and_last_but_one(level: Level) -> tuple[int, int]:
    """Between these lie all iterations of a loop of constant bounds that are followed by another one."""
    return 0, max(0, (level.trips or UNBOUNDED) - 2)


def _at(span: Lin, level: Level, counter: int) -> int:
    """An expression of no other symbol than a loop's counter, where that has counted so far."""
    return span.const + sum(factor * counter for node, factor in span.terms if node is level.iv)
