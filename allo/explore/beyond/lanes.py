"""Banks along the rows of arrays that are copied whole: a step of a copy then moves a word of the bus.

An array with banks of whole rows alone has one element of a row in a step.
"""

from __future__ import annotations

from collections.abc import Iterator

from allo.dialects.core.partition import Partition

from ..apply import Step
from ..model.kernel import Array, Kernel

BITS = 320
"""Of a bus of 512 bits, what a copy should take in a step: a channel of memory brings about four fifths."""
WHOLE = 64
"""Elements of a row that get a bank each, at most."""
SMALL = 64
"""Elements of an array that are copied in a few steps in any case."""


def with_lanes(kernel: Kernel, steps: list[Step], bits: int = BITS) -> list[Step]:
    """The steps, with more banks along the rows of arguments that have banks of rows as well.

    Args:
        bits: what a step of a copy should take.
    """
    banks = dict(_banks(kernel, steps))
    made = list(steps)
    for key, array in sorted(kernel.arrays.items()):
        last = len(array.shape) - 1
        of_rows = any(banks.get((key, dim), 1) > 1 for dim in range(last))
        if array.local or array.obstacle or array.banked or not of_rows:
            continue
        count = lanes_of(array, banks.get((key, last), 1), bits)
        if count is None:
            continue
        step = Step("partition", (array.handle, Partition.Cyclic, last + 1, count))
        at = next((n for n, each in enumerate(made) if _place(each) == (key, last)), None)
        made[at if at is not None else len(made) : len(made) if at is None else at + 1] = [step]
    return made


def lanes_of(array: Array, now: int, bits: int = BITS) -> int | None:
    """The fewest banks along rows that a word of the bus fills and rows divide into; None if they are.

    Args:
        now: the banks along rows, of which the new ones are a multiple.
        bits: of the word.
    """
    row, size = array.shape[-1], 1
    for extent in array.shape:
        size *= extent
    wanted = max(1, bits // array.bits)
    whole = now > 1 and row % now == 0
    if size <= SMALL or (whole and now >= min(wanted, row)):
        return None
    most = min(row, WHOLE)
    fits = [n for n in range(now, most + 1) if row % n == n % now == 0]
    best = next((n for n in fits if n >= wanted), max(fits, default=now))
    return best if best > now else None


def _banks(kernel: Kernel, steps: list[Step]) -> Iterator[tuple[tuple[str, int], int]]:
    """The banks that steps ask for, by array and dimension."""
    shapes = {array.handle: array.shape for array in kernel.arrays.values()}
    for step in steps:
        if (place := _place(step)) is None or place[0] not in shapes:
            continue
        whole = step.arguments[1] is Partition.Complete
        yield place, shapes[place[0]][place[1]] if whole else step.arguments[3]


def _place(step: Step) -> tuple[str, int] | None:
    """The array and the dimension of a partition."""
    return (step.arguments[0], step.arguments[2] - 1) if step.primitive == "partition" else None
