"""What can be chosen for one nest: rows of a table, each with the cycles and units that it takes.

A row tiles the loops of the nest by factors, puts the loops between tiles in an order, and pipelines the
innermost of them; all that is inside a tile happens side by side. Rows that another row of the same tiles
of shared arrays is better than in everything are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm, prod

import numpy as np

from .kernel import Access, Dimension, Kernel, Loop, Nest, Sum, Unit
from .tiles import banks, divisors, in_order, steps, thinned, tiles_of
from .units import LOAD_AND_STORE, Units

INTERVALS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 24, 32, 48, 64)
"""Initiation intervals that are asked for, in cycles, where a body needs more units than there are."""
COPIES = 4096
"""The most copies of a body side by side."""
SERIAL = 64
"""The most copies of loops in a body whose iterations wait for each other: they are hardly faster."""
PORTS = 2
"""Of a bank of memory."""
OF_ELEMENT, OF_TURN = 170, 32
"""Lookup tables beside the units: of an element that is computed at once, and of each further operation
that a unit takes in turn; before any design is measured."""
JOINT = 4
"""Banks that suit two accesses of a nest at once, at most this many times those that one needs."""
CHAINED = 4
"""The most terms of a float sum in one iteration where it may not become a tree."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a design may take at most; None: no limit is known."""

    dsp: int | None = None
    lut: int | None = None
    bram: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One choice for a nest.

    Attributes:
        nest: its number.
        order: the loops between tiles, outermost first; the last one is pipelined.
        factors: iterations of each loop side by side.
        interval: cycles between two iterations of the pipeline that are asked for.
        expected: those that the model counts with.
        cycles: of one run of the nest, by the model.
        units: of each operation so many.
        needs: banks of dimensions of arrays, of which the real number is a multiple.
        beside: lookup tables beside the units: memories, and what chooses the operands of shared units.
        partial: partial sums that take turns, or 0.
    """

    nest: int
    order: tuple[str, ...]
    factors: Mapping[str, int]
    interval: int
    expected: int
    cycles: int
    units: Mapping[Unit, int]
    needs: Mapping[Dimension, int]
    beside: int = 0
    partial: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from other rows."""
        factors = tuple(sorted(self.factors.items()))
        return self.nest, self.order, factors, self.interval, self.partial


@dataclass(slots=True)
class Space:
    """The rows of all nests, and how many were looked at."""

    rows: dict[int, list[Row]]
    units: list[Unit]
    looked_at: int = 0


def space_of(
    kernel: Kernel,
    units: Units,
    limits: Limits,
    *,
    reassociate: bool,
    most_factor: int | None = None,
) -> Space:
    """The rows of every nest of which something can be chosen.

    Args:
        most_factor: iterations of one loop side by side, at most.
        reassociate: whether float sums may become trees and partial sums.
    """
    space = Space({}, sorted({u for nest in kernel.nests for u in nest.work}))
    shared = _shared(kernel)
    for nest in kernel.nests:
        if nest.obstacle:
            continue
        made = _Rows(nest, kernel, units, limits, shared, reassociate, most_factor)
        rows = list(made.rows())
        space.looked_at += made.looked_at
        if rows:
            space.rows[nest.number] = rows
    return space


def _shared(kernel: Kernel) -> set[str]:
    """Arrays that more than one nest touches."""
    seen: dict[str, set[int]] = {}
    for nest in kernel.nests:
        for access in nest.accesses:
            seen.setdefault(access.array, set()).add(nest.number)
    return {array for array, nests in seen.items() if len(nests) > 1}


@dataclass(slots=True)
class _Grid:
    """Tiles of one order: a row of each array for each tile."""

    loops: tuple[Loop, ...]
    factors: np.ndarray
    trips: np.ndarray
    least: np.ndarray
    depth: np.ndarray
    elements: np.ndarray


class _Rows:
    """The rows of one nest."""

    def __init__(
        self,
        nest: Nest,
        kernel: Kernel,
        units: Units,
        limits: Limits,
        shared: set[str],
        reassociate: bool,
        most_factor: int | None = None,
    ) -> None:
        self._largest = most_factor
        self._nest = nest
        self._kernel = kernel
        self._units = units
        self._limits = limits
        self._trees = reassociate
        self._names = sorted(nest.work)
        self._costs = [units.cost(unit) for unit in self._names]
        self._coupled = {
            name
            for access in nest.accesses
            if access.array in shared
            for subscript in access.subscripts
            if subscript is not None
            for name in subscript.terms
        }
        self._most = self._copies()
        self.looked_at = 0

    def _copies(self) -> int:
        """The most copies of one iteration of the chain that the limits allow."""
        most = self._side_by_side() / self._nest.copies
        longest = INTERVALS[-1] if self._nest.inner else 2
        for unit, cost in zip(self._names, self._costs, strict=True):
            for taken, limit in ((cost.dsp, self._limits.dsp), (cost.lut, self._limits.lut)):
                if taken and limit is not None:
                    own = self._nest.own(unit)
                    most = min(most, limit * longest / (taken * own)) if own else most
        return max(1, int(most))

    def _side_by_side(self) -> int:
        """The most copies of the innermost body."""
        return SERIAL if self._nest.serial and self._nest.inner else COPIES

    def rows(self) -> Iterator[Row]:
        """All rows that are kept; none where the loops of the body are too many copies already."""
        if self._nest.copies > self._side_by_side():
            return
        for order in self._orders():
            grid = self._grid(in_order(order))
            if grid is not None:
                yield from self._kept(grid)

    def _orders(self) -> list[tuple[Loop, ...]]:
        chain = tuple(self._nest.chain)
        if self._nest.serial or len(chain) == 1:
            return [chain]
        over = {name for found in self._nest.sums for name in found.over}
        first = [loop for loop in chain if loop.name in over]
        rest = [loop for loop in chain if loop.name not in over]
        found = [chain]
        if first and rest:
            found.append((*first, *rest))
        if len(rest) > 1 and all(loop.constant for loop in chain):
            found.append((*first, *rest[:-2], rest[-1], rest[-2]))
        return list(dict.fromkeys(found))

    # --- tiles --------------------------------------------------------------------------------

    def _grid(self, loops: tuple[Loop, ...]) -> _Grid | None:
        options = thinned([self._factors(loop, loop is loops[-1]) for loop in loops])
        factors = np.array(list(itertools.product(*options)), np.int64).reshape(-1, len(loops))
        factors = factors[factors.prod(axis=1) <= self._most]
        self.looked_at += len(factors)
        if not len(factors):
            return None
        tiles = tiles_of(loops, factors)
        depth = np.full(len(factors), self._units.after(self._nest.levels) + LOAD_AND_STORE)
        depth += self._inner_trees()
        least = self._memory(loops, factors)
        elements = factors.prod(axis=1)
        for found in self._nest.sums:
            wait, tree, beside = self._sum(found, loops, tiles, factors)
            least = np.maximum(least, wait)
            depth += tree
            elements = np.minimum(elements, beside)
        trips = np.ceil(tiles.prod(axis=1) - 1e-6).astype(np.int64)
        return _Grid(loops, factors, trips, least, depth, elements)

    def _factors(self, loop: Loop, last: bool) -> list[int]:
        extent = loop.extent or 1
        if not last and (self._nest.serial or not loop.constant):
            return [1]
        over = {name for found in self._nest.sums if found.rounded for name in found.over}
        found = steps(extent)
        if loop.name in over and len(divisors(extent)) >= 8:
            found = divisors(extent)
        if loop.name in over and not self._trees:
            found = [d for d in found if d <= CHAINED]
        if not loop.constant or len(self._nest.chain) == 1:
            found = [f for f in found if f < extent]
        most = self._most if self._largest is None else min(self._most, self._largest)
        return [f for f in found if f <= most] or [1]

    def _inner_trees(self) -> int:
        """Cycles that sums over the loops of the body take."""
        cycles = 0
        for name, rounded in self._nest.inner_sums:
            extent = next((x.extent for x in self._nest.inner if x.name == name), 1) or 1
            unit = next((u for u in self._nest.levels if u[0] == "arith.addf"), None)
            if rounded and unit is not None:
                levels = (extent - 1).bit_length() if self._trees else extent
                cycles += self._units.cost(unit).latency * levels
        return cycles

    def _sum(
        self, found: Sum, loops: Sequence[Loop], tiles: np.ndarray, factors: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The interval that a sum holds, the cycles of its tree, and the elements that are added to."""
        columns = [n for n, loop in enumerate(loops) if loop.name in found.over]
        latency = self._units.cost(found.unit).latency
        terms = factors[:, columns].prod(axis=1)
        levels = np.ceil(np.log2(np.maximum(terms, 1))).astype(np.int64)
        is_tree = self._trees or not found.rounded
        distance = np.ones(len(factors))
        waits = np.zeros(len(factors), bool)
        for column in columns:
            moves = tiles[:, column] > 1
            distance = np.where(moves, tiles[:, column + 1 :].prod(axis=1), distance)
            waits |= moves
        chained = latency * (np.ones_like(terms) if is_tree else terms) + 1
        wait = np.where(waits, np.ceil(chained / np.maximum(distance, 1)), 1).astype(np.int64)
        tree = latency * (levels if is_tree else terms - 1)
        return wait, tree, factors.prod(axis=1) // np.maximum(terms, 1)

    def _memory(self, loops: Sequence[Loop], factors: np.ndarray) -> np.ndarray:
        """The interval that ports of memories hold, where banks are as many as the row needs."""
        one = np.ones(len(factors), np.int64)
        whole = {loop.name: one * (loop.extent or 1) for loop in self._nest.inner}
        whole |= {loop.name: factors[:, n] for n, loop in enumerate(loops)}
        worst = one
        for name in {access.array for access in self._nest.accesses}:
            array = self._kernel.arrays.get(name)
            if array is None:
                continue
            mine = [a for a in self._nest.accesses if a.array == name]
            known = all(s is not None for a in mine for s in a.subscripts)
            if known and not array.obstacle and not array.banked:
                apart = {(tuple(s.terms for s in a.subscripts if s), a.writes) for a in mine}
                count = one * len(apart)
            else:
                count = sum((self._met(a, array.banked, whole, one) for a in mine), 0 * one)
            worst = np.maximum(worst, -(-count // PORTS))
        return worst

    def _met(
        self,
        access: Access,
        banked: Mapping[int, int],
        whole: Mapping[str, np.ndarray],
        one: np.ndarray,
    ) -> np.ndarray:
        """The accesses of a bank in an iteration, of an array whose banks are as they are."""
        count = one
        for dim, subscript in enumerate(access.subscripts):
            if subscript is None:
                return prod(whole.values(), start=one)
            lanes = prod((whole.get(name, one) for name in subscript.terms), start=one)
            count = count * np.maximum(1, -(-lanes // banked.get(dim, 1)))
        return count

    # --- rows ---------------------------------------------------------------------------------

    def _kept(self, grid: _Grid) -> Iterator[Row]:
        """The rows of an order that nothing is better than, within the limits."""
        work = self._side(grid)
        busy = np.array([cost.interval for cost in self._costs], np.int64)
        found: list[np.ndarray] = []
        longer = INTERVALS[1:] if self._nest.inner else (2,)
        for asked in (1, *longer):
            real = np.maximum(grid.least, asked)  # what is asked for, too, so that units are shared
            taken = -(-work * busy[None, :] // real[:, None])
            cycles = grid.trips * real + grid.depth
            fits = (asked == 1) | (grid.least < asked)
            fits &= self._within(taken)
            index = np.nonzero(fits)[0]
            asks = real[index]
            beside = OF_ELEMENT * grid.elements + OF_TURN * (real - 1) * taken.sum(axis=1)
            columns = [index, asks, real[index], cycles[index], beside[index], taken[index]]
            found.append(np.column_stack(columns))
        table = np.vstack(found)
        for entry in self._undominated(table, grid):
            yield self._row(grid, entry)
        yield from self._partial(grid, table)

    def _side(self, grid: _Grid) -> np.ndarray:
        """Operations of each kind in each tile: iterations of a loop that has no say share one."""
        found = np.zeros((len(grid.factors), len(self._names)), np.int64)
        for column, unit in enumerate(self._names):
            for loops, count in self._nest.shares[unit].items():
                mine = [n for n, loop in enumerate(grid.loops) if loop.name in loops]
                found[:, column] += count * grid.factors[:, mine].prod(axis=1)
        return found

    def _within(self, taken: np.ndarray) -> np.ndarray:
        fits = np.ones(len(taken), bool)
        for what, limit in (("dsp", self._limits.dsp), ("lut", self._limits.lut)):
            if limit is not None:
                one = np.array([getattr(cost, what) for cost in self._costs], np.int64)
                fits &= (taken * one[None, :]).sum(axis=1) <= limit
        return fits

    def _undominated(self, table: np.ndarray, grid: _Grid) -> Iterator[np.ndarray]:
        """Of rows with the same tiles of coupled loops those that none is better than."""
        columns = [n for n, loop in enumerate(grid.loops) if loop.name in self._coupled]
        tiles = grid.factors[table[:, 0].astype(np.int64)][:, columns]
        order = np.lexsort((table[:, 1], table[:, 4], table[:, 5:].sum(axis=1), table[:, 3]))
        groups: dict[tuple[int, ...], list[np.ndarray]] = {}
        for n in order:
            kept = groups.setdefault(tuple(int(f) for f in tiles[n]), [])
            if not any((other[4:] <= table[n, 4:]).all() for other in kept):
                kept.append(table[n])
                yield table[n]

    def _row(self, grid: _Grid, entry: np.ndarray, partial: int = 0) -> Row:
        index, asked, real, cycles, beside, *taken = (int(value) for value in entry)
        names = tuple(loop.name for loop in grid.loops)
        factors = {n: int(f) for n, f in zip(names, grid.factors[index], strict=True)}
        units = dict(zip(self._names, taken, strict=True))
        needs = self._needs(factors)
        return Row(
            self._nest.number, names, factors, asked, real, cycles, units, needs, beside, partial
        )

    def _partial(self, grid: _Grid, table: np.ndarray) -> Iterator[Row]:
        """Rows whose sums are partial ones that take turns, of a nest of one loop."""
        rounded = [s for s in self._nest.sums if s.rounded]
        if len(grid.loops) > 1 or not rounded or not self._trees:
            return
        latency = max(self._units.cost(s.unit).latency for s in rounded) + 1
        for entry in table[table[:, 2] > 1]:
            index = int(entry[0])
            if entry[1] == grid.least[index] and grid.trips[index] > 2 * latency:
                changed = entry.copy()
                changed[1] = changed[2] = 1
                tail = latency * (2 + latency.bit_length())
                changed[3] = grid.trips[index] + grid.depth[index] + tail
                changed[5:] = taken = self._side(grid)[index]
                if self._within(taken[None, :])[0]:
                    yield self._row(grid, changed, latency)

    def _needs(self, factors: Mapping[str, int]) -> dict[Dimension, int]:
        whole = {loop.name: loop.extent or 1 for loop in self._nest.inner} | dict(factors)
        needs: dict[Dimension, int] = {}
        for access in self._nest.accesses:
            array = self._kernel.arrays.get(access.array)
            if array is None or array.obstacle:
                continue
            for dim, subscript in enumerate(access.subscripts):
                count = banks(subscript, whole, array.shape[dim])
                if count > 1:
                    key = (access.array, dim)
                    joint = lcm(needs.get(key, 1), count)
                    fits = joint <= min(array.shape[dim], JOINT * max(needs.get(key, 1), count))
                    needs[key] = joint if fits else max(needs.get(key, 1), count)
        return needs
