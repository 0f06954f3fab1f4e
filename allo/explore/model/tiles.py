"""Tiles of loops: the factors worth trying, how many tiles they make, and the banks that a tile meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from .kernel import Loop, Subscript

GRID = 60_000
"""Tiles of a nest that are looked at for each order of its loops, at most."""


def steps(extent: int) -> list[int]:
    """The least factor for each number of tiles, ascending."""
    return sorted({-(-extent // n) for n in range(1, extent + 1)})


def divisors(extent: int) -> list[int]:
    """All divisors, ascending."""
    return [d for d in range(1, extent + 1) if extent % d == 0]


def thinned(options: Sequence[Sequence[int]]) -> list[list[int]]:
    """Fewer factors where the grid would be too large: every second one of the longest list, and the last."""
    kept = [list(found) for found in options]
    while prod(len(found) for found in kept) > GRID:
        longest = max(kept, key=len)
        if len(longest) < 3:
            break
        longest[:] = [f for n, f in enumerate(longest) if n % 2 == 0 or n == len(longest) - 1]
    return kept


def in_order(order: Sequence[Loop]) -> tuple[Loop, ...]:
    """The loops with the bounds they have in this order: one moved outside the other has constants."""
    place = {loop.name: n for n, loop in enumerate(order)}
    by_name = {loop.name: loop for loop in order}
    for loop in order:
        if loop.over is None or loop.over[0] not in place:
            continue
        if place[loop.name] < place[loop.over[0]]:
            by = by_name[loop.over[0]]
            by_name[loop.name] = Loop(loop.name, loop.extent, loop.low, True)
            turned = (loop.name, *loop.over[1:])
            by_name[by.name] = Loop(by.name, by.extent, by.low, False, turned)
    return tuple(by_name[loop.name] for loop in order)


def tiles_of(loops: Sequence[Loop], grid: np.ndarray) -> np.ndarray:
    """Tiles of each loop for each row of factors: of a loop that depends on another one the mean number."""
    tiles = np.empty(grid.shape, np.float64)
    names = [loop.name for loop in loops]
    for n, loop in enumerate(loops):
        whole = -(-(loop.extent or 1) // grid[:, n])
        if loop.constant:
            tiles[:, n] = whole
        elif loop.over is None or loop.over[0] not in names:
            tiles[:, n] = np.maximum(1.0, whole * 0.5)
        else:
            column = names.index(loop.over[0])
            keys, rows = np.unique(grid[:, [column, n]], axis=0, return_inverse=True)
            means = [_mean(loops[column], loop, int(a), int(b)) for a, b in keys]
            tiles[:, n] = np.array(means)[rows.reshape(-1)]
    return tiles


def _mean(outer: Loop, inner: Loop, step: int, factor: int) -> float:
    """Tiles of the inner loop for each tile of the outer one, on average."""
    if inner.over is None:
        return 1.0
    count = outer.extent or 1
    values = np.arange(outer.low, outer.low + count)
    _, (low, low_constant), (high, high_constant) = inner.over
    extents = np.maximum(0, (high - low) * values + high_constant - low_constant)
    padded = np.zeros(-(-count // step) * step, np.int64)
    padded[:count] = np.minimum(extents, inner.extent or 1)
    most = padded.reshape(-1, step).max(axis=1)
    return float(np.maximum(1, -(-most // factor)).mean())


def banks(subscript: Subscript | None, factors: Mapping[str, int], extent: int) -> int:
    """Banks in which the elements lie that a subscript meets in one tile."""
    if subscript is None:
        return 1
    sides = [(abs(c), factors.get(n, 1)) for n, c in subscript.terms.items()]
    sides = [(c, f) for c, f in sides if f > 1 and c]
    if not sides:
        return 1
    found = sides[0][0] * sides[0][1] if len(sides) == 1 else 1 + sum(c * (f - 1) for c, f in sides)
    return min(found, extent) if extent > 0 else found
