"""The graph level: one row for every nest, together within the limits, by OR-tools' CP-SAT.

Rows of nests that share an array agree on its banks: the banks of a dimension are a multiple of what each
chosen row needs. Nests that run one after the other share their units; with ``dataflow`` the tasks of the
top function have units of their own, and one that shares no memory with those before it starts with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import lcm, prod

from allo.backend.rtl.plan.exact.cp_sat import cp_sat

from .greedy import OF_BANK, is_whole, reduced
from .model.blocks import Blocks
from .model.kernel import Dimension, Kernel, Unit, banks_of
from .model.rows import Limits, Row, Space
from .model.units import Units

WORK = 10.0
"""What one solution may take in the solver's own measure of work, which is about seconds of a processor."""
SCALE = 1000
"""What a cycle counts in the sum that is made least; the lookup tables of the device count ``OF_TABLES``
of all cycles, so that of designs that take about as long the smaller one is found."""
OF_TABLES = 0.03
OF_BLOCK = 200
"""Lookup tables that a multiplier block counts for where the area is made least."""


class Unsolved(Exception):
    """The solver came to no answer in its time."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A row for each nest of which something is chosen, and what the model says of them.

    Attributes:
        rows: by the number of the nest; a nest that is missing leaves the choice to the nests inside it.
        banks: of dimensions of arrays.
        dataflow: whether the tasks of the top function run at the same time.
        cycles: by the model.
        bound: no choice has fewer cycles by the model.
    """

    rows: Mapping[int, Row]
    banks: Mapping[Dimension, int]
    dataflow: bool
    cycles: int
    bound: int
    lut: int = 0
    dsp: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from other choices."""
        rows = tuple(self.rows[n].key for n in sorted(self.rows))
        return self.dataflow, rows, tuple(sorted(self.banks.items()))


@dataclass(slots=True)
class Corrections:
    """What real reports have taught: ratios of what was measured to the model, and choices made already.

    Attributes:
        lut, dsp: measured to modelled.
        bram: blocks of memory for each bank of a local array.
        blocks: measured to those that arrays of a network take by themselves, more than which a first
            design takes for its ports.
    """

    lut: float = 1.0
    dsp: float = 1.0
    bram: float = 2.0
    blocks: float = 2.0
    done: list[Choice] = field(default_factory=list)

    def learn(
        self,
        kernel: Kernel,
        choice: Choice,
        taken: Mapping[str, int],
        limits: Limits,
        device: str,
    ) -> None:
        """Correct the model by what the report of a choice says."""
        if choice.lut:
            self.lut = max(0.5, taken.get("lut", 0) / choice.lut)
        if choice.dsp:
            self.dsp = max(1.0, taken.get("dsp", 0) / choice.dsp)
        if limits.bram is None or taken.get("bram", 0) <= limits.bram:
            return
        local = [name for name, array in kernel.arrays.items() if array.local]
        self.bram = max(self.bram, taken["bram"] / max(1, banks_of(choice.banks, local)))
        known = max(1, Blocks(device).of_local(kernel, choice.banks))
        self.blocks = max(self.blocks, taken["bram"] / known)

    def scaled(self, limits: Limits) -> Limits:
        """Limits for what the model says, where reports have more."""
        return replace(
            limits,
            lut=None if limits.lut is None else int(limits.lut / max(1.0, self.lut)),
            dsp=None if limits.dsp is None else int(limits.dsp / max(1.0, self.dsp)),
        )


@dataclass(slots=True)
class Problem:
    """A kernel's rows and limits, to be solved again and again."""

    kernel: Kernel
    space: Space
    units: Units
    limits: Limits
    objective: str = "cycles"
    most_cycles: int | None = None

    def solve(
        self,
        corrections: Corrections,
        *,
        dataflow: bool,
        seconds: float,
        below: int | None = None,
        small: bool = True,
    ) -> Choice | None:
        """The choice with the fewest cycles that has not been made; None where there is none.

        Args:
            seconds: the time that the solver may take.
            below: only choices of fewer cycles by the model are asked for.
            small: prefer a smaller design to one that takes hardly fewer cycles.

        Raises:
            Unsolved: the time did not suffice to find a choice, or that there is none.
        """
        space = self.space
        if below is not None:
            space = reduced(self.kernel, self.space, below, together=dataflow)
        if not is_whole(self.kernel, self.space, space):
            return None
        program = _Program(replace(self, space=space), corrections, dataflow)
        return program.run(seconds, below, small)


class _Program:
    """One integer program."""

    def __init__(self, problem: Problem, corrections: Corrections, dataflow: bool) -> None:
        self._problem = problem
        self._corrections = corrections
        self._dataflow = dataflow
        self._model = cp_sat.CpModel()
        self._chosen: dict[int, list[cp_sat.IntVar]] = {}
        self._spread: list[tuple[int, cp_sat.IntVar]] = []
        self._local: list[tuple[int, cp_sat.IntVar]] = []
        self._nests()
        self._arrays()
        self._taken = self._resources()
        self._cycles = self._latency()
        self._forbid()

    # --- choices ------------------------------------------------------------------------------

    def _nests(self) -> None:
        """One row for each innermost nest: its own, or that of a nest around it."""
        kernel = self._problem.kernel
        for number, options in self._problem.space.rows.items():
            self._chosen[number] = [
                self._model.new_bool_var(f"row{number}_{n}") for n in range(len(options))
            ]
        for nest in kernel.leaves():
            literals = list(self._chosen.get(nest.number, []))
            for number in kernel.around(nest):
                literals += self._chosen.get(number, [])
            if literals:
                self._model.add_exactly_one(literals)

    def _arrays(self) -> None:
        """Banks of every array: in each dimension a multiple of what each chosen row needs."""
        needing: dict[str, dict[tuple[int, ...], list[cp_sat.IntVar]]] = {}
        for number, options in self._problem.space.rows.items():
            for row, variable in zip(options, self._chosen[number], strict=True):
                for name in {dimension[0] for dimension in row.needs}:
                    rank = len(self._problem.kernel.arrays[name].shape)
                    need = tuple(row.needs.get((name, dim), 1) for dim in range(rank))
                    needing.setdefault(name, {}).setdefault(need, []).append(variable)
        for name, wanted in needing.items():
            array = self._problem.kernel.arrays[name]
            known = [need for need in wanted if all(need[d] == b for d, b in array.banked.items())]
            if array.banked:
                given = (array.banked.get(d, 1) for d in range(len(array.shape)))
                known = sorted({*known, tuple(given)})
            made = [(banks, self._model.new_bool_var(f"{name}={banks}")) for banks in known]
            self._model.add_at_most_one(variable for _, variable in made)
            if array.local:
                self._local += [(prod(banks), variable) for banks, variable in made]
            self._spread += [
                (OF_BANK * prod(banks), variable) for banks, variable in made if not array.banked
            ]
            for need, variables in wanted.items():
                fitting = [
                    variable
                    for banks, variable in made
                    if all(b % n == 0 for b, n in zip(banks, need, strict=True))
                ]
                self._each(variables, fitting)

    def _each(self, variables: list[cp_sat.IntVar], fitting: list[cp_sat.IntVar]) -> None:
        """Any of the rows needs one of the banks."""
        used = self._model.new_bool_var("")
        self._model.add_bool_or([*fitting, used.negated()])
        for variable in variables:
            self._model.add_implication(variable, used)

    # --- what it takes ------------------------------------------------------------------------

    def _resources(self) -> dict[str, cp_sat.LinearExprT]:
        """Units, lookup tables and multiplier blocks, each within its limit."""
        kernel, costs = self._problem.kernel, self._problem.units
        groups = list(kernel.tasks) if self._dataflow else [list(range(len(kernel.nests)))]
        lut: list[cp_sat.LinearExprT] = []
        dsp: list[cp_sat.LinearExprT] = []
        for number, group in enumerate(groups):
            for unit in self._problem.space.units:
                cost = costs.cost(unit)
                if not cost.lut and not cost.dsp:
                    continue
                count = self._most(number, unit, group)
                lut.append(cost.lut * count)
                dsp.append(cost.dsp * count)
            lut.append(self._most(number, None, group))
        spread = sum((count * variable for count, variable in self._spread), 0)
        found: dict[str, cp_sat.LinearExprT] = {"lut": sum(lut) + spread, "dsp": sum(dsp)}
        for name, ratio in (("lut", self._corrections.lut), ("dsp", self._corrections.dsp)):
            limit = getattr(self._problem.limits, name)
            if limit is not None:
                self._model.add(found[name] <= int(limit / max(ratio, 1e-3)))
        if self._corrections.bram and self._problem.limits.bram is not None:
            most = int(self._problem.limits.bram / self._corrections.bram)
            banks = sum((count * variable for count, variable in self._local), 0)
            self._model.add(banks <= most + len(self._problem.kernel.arrays))
        return found

    def _most(self, number: int, unit: Unit | None, group: Sequence[int]) -> cp_sat.IntVar:
        """The units, or the elements at once, of the nest of a group that takes most."""
        most = self._model.new_int_var(0, 1 << 20, f"{unit}@{number}")
        for nest in group:
            terms = []
            for row, variable in zip(
                self._problem.space.rows.get(nest, []), self._chosen.get(nest, []), strict=True
            ):
                count = row.beside if unit is None else row.units.get(unit, 0)
                if count:
                    terms.append(count * variable)
            if terms:
                self._model.add(most >= sum(terms))
        return most

    def _latency(self) -> cp_sat.LinearExprT:
        """The cycles of a run: of all nests one after the other, or of tasks that wait for one another."""
        kernel = self._problem.kernel
        if not self._dataflow:
            return sum((self._of_nest(nest.number, nest.entries) for nest in kernel.nests), 0)
        of_task = [
            sum((self._of_nest(n, kernel.entries_of_task(n)) for n in task), 0)
            for task in kernel.tasks
        ]
        ends: list[cp_sat.IntVar] = []
        for number, cycles in enumerate(of_task):
            end = self._model.new_int_var(0, 1 << 50, f"end{number}")
            self._model.add(end >= cycles)
            for before, after in kernel.waits:
                if after == number:
                    self._model.add(end >= ends[before] + cycles)
            ends.append(end)
        last = self._model.new_int_var(0, 1 << 50, "end")
        for end in ends:
            self._model.add(last >= end)
        return last

    def _of_nest(self, number: int, entries: int) -> cp_sat.LinearExprT:
        pairs = zip(
            self._problem.space.rows.get(number, []), self._chosen.get(number, []), strict=True
        )
        return sum((entries * row.cycles * variable for row, variable in pairs), 0)

    def _forbid(self) -> None:
        """Leave out the choices that have been made already."""
        for choice in self._corrections.done:
            if choice.dataflow != self._dataflow:
                continue
            literals = []
            for number, row in choice.rows.items():
                options = self._problem.space.rows.get(number, [])
                place = next((n for n, other in enumerate(options) if other.key == row.key), None)
                if place is None:
                    break
                literals.append(self._chosen[number][place].negated())
            else:
                self._model.add_bool_or(literals)

    # --- solving ------------------------------------------------------------------------------

    def run(self, seconds: float, below: int | None, small: bool) -> Choice | None:
        """Solve, and read the choice."""
        if below is not None:
            self._model.add(self._cycles < below)
        if self._problem.most_cycles is not None:
            self._model.add(self._cycles <= self._problem.most_cycles)
        area = self._taken["lut"] + OF_BLOCK * self._taken["dsp"]
        if self._problem.objective == "area":
            self._model.minimize(area)
        else:
            weight = self._weight(below) if small else 0
            self._model.minimize(SCALE * self._cycles + weight * self._taken["lut"])
        solver = cp_sat.CpSolver()
        solver.parameters.max_time_in_seconds = max(0.1, seconds)
        solver.parameters.max_deterministic_time = WORK
        solver.parameters.num_workers = 2
        solver.parameters.random_seed = 1
        solver.parameters.catch_sigint_signal = False
        solver.parameters.relative_gap_limit = 0.0005
        status = solver.solve(self._model)
        if status == cp_sat.INFEASIBLE:
            return None
        if status not in (cp_sat.OPTIMAL, cp_sat.FEASIBLE):
            raise Unsolved
        rows = {
            number: self._problem.space.rows[number][n]
            for number, variables in self._chosen.items()
            for n, variable in enumerate(variables)
            if solver.boolean_value(variable)
        }
        return Choice(
            rows,
            least_banks(rows),
            self._dataflow,
            int(solver.value(self._cycles)),
            self._bound(solver, below if small else None),
            int(solver.value(self._taken["lut"])),
            int(solver.value(self._taken["dsp"])),
        )

    def _weight(self, below: int | None) -> int:
        """What a lookup table counts beside ``SCALE`` for a cycle."""
        whole = self._problem.limits.lut
        if below is None or not whole:
            return 0
        return int(below * OF_TABLES * SCALE / whole)

    def _bound(self, solver: cp_sat.CpSolver, below: int | None) -> int:
        """Cycles that no choice can be below, by the model."""
        if self._problem.objective == "area":
            return int(solver.best_objective_bound)
        tables = self._weight(below) * (self._problem.limits.lut or 0)
        return max(0, int((solver.best_objective_bound - tables) / SCALE))


def least_banks(rows: Mapping[int, Row]) -> dict[Dimension, int]:
    """The least common multiple of what the chosen rows need."""
    found: dict[Dimension, int] = {}
    for row in rows.values():
        for dimension, banks in row.needs.items():
            found[dimension] = lcm(found.get(dimension, 1), banks)
    return found


def choice_of(kernel: Kernel, units: Units, rows: Mapping[int, Row], share: int) -> Choice:
    """A choice of these rows; ``share`` tasks run at the same time, or 0."""
    nests, most = kernel.nests, dict[Unit, int]()
    for row in rows.values():
        most |= {u: max(n, most.get(u, 0)) for u, n in row.units.items()}
    costs = [(units.cost(unit), count) for unit, count in most.items()]
    lut = sum(cost.lut * count for cost, count in costs)
    lut += max(row.beside for row in rows.values())
    taken = {n: row.cycles * kernel.entries_of_task(n) for n, row in rows.items()}
    ends: list[int] = []
    for number, task in enumerate(kernel.tasks):
        before = [ends[a] for a, b in kernel.waits if b == number]
        ends.append(max(before, default=0) + sum(taken.get(n, 0) for n in task))
    whole = sum(row.cycles * nests[n].entries for n, row in rows.items())
    cycles = max(ends, default=0) if share else whole
    times = max(1, share)
    dsp = sum(cost.dsp * count for cost, count in costs)
    return Choice(rows, least_banks(rows), bool(share), cycles, 0, lut * times, dsp * times)
