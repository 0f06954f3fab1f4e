"""Cycles balanced between layers: a choice for every nest, made better nest by nest and array by array.

A network has many nests, and each array between two of them has banks that both agree on. CP-SAT over all
rows of all nests at once comes to no answer in the time of a search. This starts from a choice that fits,
and takes turns: one nest gets the best row that goes with all the others; and all nests that use one array
get the best rows for other banks of it. It ends where no such change makes the whole shorter or smaller.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import lcm, prod

import numpy as np

from ..greedy import AREA, MORE, OF_BANK, TABLES, choosing, least_cycles
from ..model.blocks import Blocks
from ..model.kernel import Dimension, Kernel, Unit
from ..model.rows import Limits, Row, Space
from ..model.units import Units

PATTERNS = 24
"""Ways to spread an array over banks that are tried for all nests that use it."""
USERS = 8
"""Nests of an array whose rows are chosen anew together, at most."""
FAR, FEWER = 1.5, (0.94, 0.88)
"""Times the bound, above which a balance is begun with fewer units as well; shares of these."""


@dataclass(slots=True)
class _State:
    """What nests other than some take: units, lookup tables beside them, and the banks they need."""

    units: np.ndarray
    beside: int
    needs: dict[Dimension, int]
    cycles: int


class _Table:
    """The rows of one nest as arrays, the best of those that need the same banks."""

    def __init__(self, rows: list[Row], entries: int, names: list[Unit], whole: Row) -> None:
        best: dict[tuple[object, ...], Row] = {}
        for row in rows:
            key = (tuple(sorted(row.needs.items())), row.interval)
            known = best.get(key)
            if known is None or row.cycles < known.cycles:
                best[key] = row
        self.rows = [*best.values(), whole]
        self.cycles = np.array([row.cycles * entries for row in self.rows], np.float64)
        self.beside = np.array([row.beside for row in self.rows], np.float64)
        self.units = np.array(
            [[row.units.get(unit, 0) for unit in names] for row in self.rows],
            np.float64,
        ).reshape(len(self.rows), len(names))
        dims = sorted({dim for row in self.rows for dim in row.needs})
        self.needs = {
            dim: np.array([row.needs.get(dim, 1) for row in self.rows], np.int64) for dim in dims
        }

    @cached_property
    def arrays(self) -> set[str]:
        """The arrays it needs banks of."""
        return {array for array, _ in self.needs}


class Balance:
    """A choice of rows for a kernel, and its improvement.

    Args:
        blocks: what arrays take of block RAM; ``ratio``: blocks of a report for each of these.
        pool: units of each operation, at most.
    """

    def __init__(
        self,
        kernel: Kernel,
        space: Space,
        units: Units,
        limits: Limits,
        start: Mapping[int, Row],
        blocks: Blocks,
        ratio: float = 1.0,
        pool: Mapping[Unit, int] | None = None,
    ) -> None:
        self._kernel = kernel
        self._blocks = blocks
        self._known: dict[tuple[str, tuple[int, ...]], int] = {}
        self._limits = limits
        self.rows = dict(start)
        self._names = list(space.units)
        costs = [units.cost(unit) for unit in self._names]
        self._lut = np.array([cost.lut for cost in costs], np.float64)
        self._dsp = np.array([cost.dsp for cost in costs], np.float64)
        self._tables = {
            n: _Table(space.rows[n], kernel.nests[n].entries, self._names, row)
            for n, row in start.items()
        }
        self._pool = None if pool is None else np.array([pool.get(u, 0) for u in self._names])
        self._local = {name for name, array in kernel.arrays.items() if array.local}
        self._most = None if limits.bram is None else limits.bram / ratio
        least = least_cycles(kernel, space)
        whole = sum(least[n] for n in start)
        self._of_table = AREA * whole / (limits.lut or TABLES)

    def improve(self, until: float) -> dict[int, Row]:
        """Take turns until nothing gets better, or ``until`` of the processor time; the rows."""
        better = True
        while better and time.process_time() < until:
            better = False
            for n in self._longest():
                better |= self._single(n)
            for array in self._shared():
                if time.process_time() > until:
                    break
                better |= self._array(array)
        return self.rows

    @property
    def cycles(self) -> int:
        """Cycles of the choice."""
        return self._state(self.rows.values(), self.rows).cycles

    def cost(self) -> float:
        """Cycles of the choice, and a share of them for its lookup tables."""
        return self._cost(self.rows)

    def fits(self) -> bool:
        """Whether the choice is within the limits."""
        state = self._state(self.rows.values(), self.rows)
        taken = (
            (self._limits.dsp, state.units @ self._dsp),
            (self._limits.lut, state.units @ self._lut + state.beside),
        )
        return all(limit is None or each <= limit for limit, each in taken)

    # --- changes --------------------------------------------------------------------------------

    def _longest(self) -> list[int]:
        nests = self._kernel.nests
        return sorted(self.rows, key=lambda n: -self.rows[n].cycles * nests[n].entries)

    def _single(self, n: int) -> bool:
        others = {m: row for m, row in self.rows.items() if m != n}
        state = self._state(others.values(), others)
        row, _ = self._best(n, state)
        return row is not None and self._accept({n: row})

    def _array(self, array: str) -> bool:
        """Other banks of one array, with the best rows of all nests that use it."""
        users = [n for n in self._longest() if array in self._tables[n].arrays][:USERS]
        others = {m: row for m, row in self.rows.items() if m not in users}
        found = False
        for first in self._patterns(users[0], array, self._state(others.values(), others)):
            changed = {users[0]: first}
            for n in users[1:]:
                together = {**others, **changed}
                row, _ = self._best(n, self._state(together.values(), together))
                if row is None:
                    break
                changed[n] = row
            else:
                found |= self._accept(changed)
        return found

    def _accept(self, changed: Mapping[int, Row]) -> bool:
        trial = {**self.rows, **changed}
        if self._cost(trial) < self._cost(self.rows) - 0.5:
            self.rows = trial
            return True
        return False

    def _shared(self) -> list[str]:
        uses = Counter(array for table in self._tables.values() for array in table.arrays)
        return [array for array, count in uses.most_common() if count > 1]

    def _patterns(self, n: int, array: str, state: _State) -> list[Row]:
        """Rows of a nest that go with the others, the best for each way to spread the array."""
        table = self._tables[n]
        cost = self._costs(table, state)
        seen: set[tuple[int, ...]] = set()
        found: list[Row] = []
        dims = [dim for dim in table.needs if dim[0] == array]
        for place in np.argsort(cost, kind="stable"):
            if not np.isfinite(cost[place]) or len(found) == PATTERNS:
                break
            pattern = tuple(int(table.needs[dim][place]) for dim in dims)
            if pattern not in seen:
                seen.add(pattern)
                found.append(table.rows[place])
        return found

    # --- what it costs --------------------------------------------------------------------------

    def _state(self, rows: Iterable[Row], numbers: Iterable[int]) -> _State:
        taken = np.zeros(len(self._names))
        needs: dict[Dimension, int] = {}
        beside, cycles = 0, 0
        for n, row in zip(numbers, rows, strict=True):
            taken = np.maximum(taken, [row.units.get(unit, 0) for unit in self._names])
            beside = max(beside, row.beside)
            cycles += row.cycles * self._kernel.nests[n].entries
            for dim, need in row.needs.items():
                needs[dim] = lcm(needs.get(dim, 1), need)
        return _State(taken, beside, needs, cycles)

    def _cost(self, rows: Mapping[int, Row]) -> float:
        state = self._state(rows.values(), rows)
        tables = (
            float(state.units @ self._lut)
            + state.beside
            + OF_BANK * sum(_banks(state.needs).values())
        )
        return state.cycles + self._of_table * tables

    def _best(self, n: int, state: _State) -> tuple[Row | None, float]:
        table = self._tables[n]
        cost = self._costs(table, state)
        place = int(np.argmin(cost))
        return (table.rows[place] if np.isfinite(cost[place]) else None), float(cost[place])

    def _costs(self, table: _Table, state: _State) -> np.ndarray:
        """Of the whole with each row of a nest; infinite of one that does not go with the others."""
        count = len(table.rows)
        units = np.maximum(table.units, state.units[None, :])
        fits = np.ones(count, bool)
        beside = np.maximum(table.beside, state.beside)
        for limit, taken in (
            (self._limits.dsp, units @ self._dsp),
            (self._limits.lut, units @ self._lut + beside),
        ):
            if limit is not None:
                fits &= taken <= limit
        if self._pool is not None:
            fits &= (table.units <= self._pool[None, :]).all(axis=1)
        before = _banks(state.needs)
        spread = np.full(count, float(sum(before.values())))
        memory = np.zeros(count)
        if self._most is not None:
            memory += sum(self._memory(a, state.needs) for a in self._local - table.arrays)
        for array in table.arrays:
            joint, own = np.ones(count, np.int64), np.ones(count, np.int64)
            known = before.get(array, 0)
            shape = self._kernel.arrays[array].shape
            words = np.full(count, prod(shape), np.int64)
            rest = {dim: f for dim, f in state.needs.items() if dim[0] == array}
            for dim in {*rest, *(d for d in table.needs if d[0] == array)}:
                need = table.needs.get(dim, np.ones(count, np.int64))
                most = np.maximum(need, rest.get(dim, 1))
                fits &= (most % need == 0) & (most % rest.get(dim, 1) == 0)
                joint *= most
                own *= need
                words = words // shape[dim[1]] * -(-shape[dim[1]] // most)
            fits &= joint <= MORE * np.maximum(own, max(known, 1))
            spread += joint - known
            if self._most is not None and array in self._local:
                memory += self._blocks.of_banks(self._kernel.arrays[array], joint, words)
        if self._most is not None:
            fits &= memory <= self._most
        tables = units @ self._lut + beside + OF_BANK * spread
        cost: np.ndarray = np.where(
            fits, state.cycles + table.cycles + self._of_table * tables, np.inf
        )
        return cost

    def _memory(self, array: str, needs: Mapping[Dimension, int]) -> int:
        """Blocks of a local array."""
        found = self._kernel.arrays[array]
        factors = tuple(needs.get((array, dim), 1) for dim in range(len(found.shape)))
        if (array, factors) not in self._known:
            self._known[array, factors] = self._blocks.of(found, needs)
        return self._known[array, factors]


def _banks(needs: Mapping[Dimension, int]) -> dict[str, int]:
    """The banks of each array."""
    return {
        array: prod(factor for (name, _), factor in needs.items() if name == array)
        for array in {name for name, _ in needs}
    }


def balanced(
    kernel: Kernel,
    space: Space,
    units: Units,
    limits: Limits,
    *,
    blocks: Blocks,
    ratio: float,
    pool: Mapping[Unit, int] | None,
    until: float,
    bound: int = 0,
) -> dict[int, Row] | None:
    """A row for each nest that fit together, nests one after the other; None where none is found.

    Args:
        blocks: what arrays take of block RAM; ``ratio``: blocks of a report for each of these.
        pool: units of each operation with which a choice is begun: the nests that take longest would leave
            nothing to units of other kinds. It goes on with all that the limits allow.
        until: of the processor time, when the best so far is taken.
        bound: cycles that no choice is below. Where the best one is far from it, others are begun with fewer
            units, as the longest nest may have taken those that another one needs for the same banks.
    """
    start = {n: min(space.rows[n], key=_smallest) for n in choosing(kernel, space)}
    best: Balance | None = None
    for share in (1.0, *FEWER, None) if pool else (None,):
        if share in FEWER and bound and best is not None and best.cycles <= FAR * bound:
            continue
        given = {unit: int(share * n) for unit, n in pool.items()} if pool and share else None
        begun = Balance(kernel, space, units, limits, start, blocks, ratio, given)
        whole = Balance(kernel, space, units, limits, begun.improve(until), blocks, ratio)
        whole.improve(until)
        if whole.fits() and (best is None or whole.cost() < best.cost()):
            best = whole
    return None if best is None else best.rows


def _smallest(row: Row) -> tuple[int, int, int]:
    return prod(row.needs.values()), sum(row.units.values()), row.cycles
