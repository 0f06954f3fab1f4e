"""The search for the best schedule of a body: least interval, then fewest cycles, then smallest area.

Where operations share units, fewer cycles are only asked for with no more units than the first schedule has.
The search starts from the schedule that is found without it, so that it can only be better, and is bounded
by the solver's own measure of work: the same program gets the same schedule on any machine.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from allo.dialects.diagnostics import SourcePlace

from ..modulo import Scheduler, depth_of, restore, times_of
from ..orders.order import from_unit
from ..search.interval import least_interval
from .cp_sat import cp_sat
from .program import Limits, Program
from .proof import Figure, Proof, area_of, operations_of, units_of

QUICK, EXACT = "quick", "exact"
"""What the option ``effort`` asks for."""
MOST_OPERATIONS = 150
"""Operations of the largest body that is searched."""
WORK = 4.0
"""Work of one question to the solver, in its own measure: about so many seconds."""


class Answer(NamedTuple):
    """What the solver says.

    Attributes:
        times: the cycle of each node, None where it has found no schedule.
        least: no schedule has less of what was asked for.
        impossible: whether there is no schedule.
    """

    times: list[int] | None
    least: int
    impossible: bool


type Answers = dict[str, Answer]
"""What the solver said, by the text of what it was asked."""


@dataclass(slots=True)
class Exact:
    """Searches bodies, and keeps what it has proved of them.

    Attributes:
        shift_registers: whether a lookup table can keep a bit for many cycles.
        answers: what was asked before for this design, which limits on resources compile several times.
    """

    shift_registers: bool
    answers: Answers = field(default_factory=dict)
    proofs: list[Proof] = field(default_factory=list)

    def improve(
        self,
        scheduler: Scheduler,
        ports: Mapping[Hashable, int],
        ii: int | None,
        *,
        least: int = 1,
        name: str = "",
        place: SourcePlace | None = None,
    ) -> int | None:
        """Leave a scheduled body with the best schedule found; its initiation interval.

        Args:
            ports: how many accesses each port takes in a cycle.
            ii: the interval that it has; None where iterations do not overlap.
            least: no interval below it is wanted, or possible.
        """
        body = scheduler.body
        count = operations_of(body)
        why = self._refused(scheduler, count)
        if why:
            self.proofs.append(Proof(place, name, count, without=why))
            return ii
        search = _Search(scheduler, ports, ii, self.shift_registers, self.answers)
        interval = search.shorten(least) if ii is not None else None
        depth = search.fewer_cycles()
        area = search.smaller()
        self.proofs.append(Proof(place, name, count, interval, depth, area))
        return search.ii

    def _refused(self, scheduler: Scheduler, count: int) -> str:
        if count > MOST_OPERATIONS:
            return f"it has {count} operations, and {MOST_OPERATIONS} at most are searched"
        if scheduler.mapped is not None:
            return "its recurrence is timed as lookup tables"
        if any(e.passes_register and not from_unit(e.source) for e in scheduler.body.edges):
            return "it takes values on their way to registers"
        if any(edge.passes_word for edge in scheduler.body.edges):
            return "it takes values on their way to memories"
        if any(node.waits for node in scheduler.body.nodes):
            return "it waits for streams"
        return ""


class _Search:
    """The search of one body.

    Attributes:
        ii: the interval of the schedule that the body has.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        ports: Mapping[Hashable, int],
        ii: int | None,
        shift_registers: bool,
        answers: Answers,
    ) -> None:
        self._scheduler, self._ports, self.ii = scheduler, ports, ii
        self._body, self._shifts = scheduler.body, shift_registers
        self._answers = answers

    def shorten(self, least: int) -> Figure:
        """Ask for a shorter interval, from the least one on."""
        assert self.ii is not None
        first = bound = self.ii
        for ii in self._intervals(least):
            program = self._program(ii, 2 * (self._depth() + ii), {})
            answer = self._asked(program, None)
            if answer.times is not None and self._adopt(answer.times, ii):
                self.ii = ii
                bound = min(bound, ii)
                break
            if not (answer.impossible and self._scheduler.is_plain):
                bound = min(bound, ii)
        return Figure(first, self.ii, bound)

    def fewer_cycles(self) -> Figure:
        """Ask for fewer cycles an iteration."""
        first = self._depth()
        program = self._program(self.ii, max(self._times()), self._units())
        answer = self._asked(program, program.depth, self._times())
        if answer.times is not None:
            self._adopt(answer.times, self.ii)
        found = self._depth()
        return Figure(first, found, min(found, answer.least) if self._scheduler.is_plain else 1)

    def smaller(self) -> Figure:
        """Ask for less area in no more cycles."""
        first = self._area()
        program = self._program(self.ii, max(self._times()), self._units())
        program.model.add(program.depth <= self._depth())
        area = program.area(shift_registers=self._shifts)
        answer = self._asked(program, area, self._times())
        if answer.times is not None:
            before = times_of(self._body)
            if self._adopt(answer.times, self.ii) and self._area() > first:
                restore(self._body, before)
        found = self._area()
        return Figure(first, found, min(found, answer.least) if self._scheduler.is_plain else 0)

    def _intervals(self, least: int) -> list[int]:
        """The intervals to ask for: those that recurrences alone allow, and the one below today's."""
        assert self.ii is not None
        before = times_of(self._body)
        free = min(self.ii, least_interval(self._scheduler, {}, least, self.ii).ii)
        restore(self._body, before)
        return sorted({*range(free, self.ii), *range(max(least, self.ii - 1), self.ii)})

    def _program(self, ii: int | None, horizon: int, units: Mapping[Hashable, int]) -> Program:
        scheduler = self._scheduler
        limits = Limits(ii, horizon, self._ports, units)
        return Program(self._body, scheduler.timing, scheduler.uses, limits)

    def _asked(
        self, program: Program, wanted: cp_sat.LinearExprT | None, hint: list[int] | None = None
    ) -> Answer:
        """Solve a program, for any schedule or for the one with the least of what is wanted."""
        if wanted is not None:
            program.model.minimize(wanted)
        if hint is not None:
            program.hint(hint)
        asked = str(program.model.proto)
        if asked not in self._answers:
            self._answers[asked] = self._solved(program, wanted)
        return self._answers[asked]

    def _solved(self, program: Program, wanted: cp_sat.LinearExprT | None) -> Answer:
        solver = cp_sat.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.max_deterministic_time = WORK
        status = solver.solve(program.model)
        if status == cp_sat.INFEASIBLE:
            return Answer(None, 0, impossible=True)
        least = round(solver.best_objective_bound) if wanted is not None else 0
        if status not in (cp_sat.OPTIMAL, cp_sat.FEASIBLE):
            return Answer(None, least, impossible=False)
        times = [solver.value(cycle) for cycle in program.cycles]
        return Answer(times, least, impossible=False)

    def _adopt(self, times: list[int], ii: int | None) -> bool:
        return self._scheduler.adopt(times, ii, self._ports)

    def _times(self) -> list[int]:
        return [node.time for node in self._body.nodes]

    def _depth(self) -> int:
        return depth_of(self._body)

    def _area(self) -> int:
        uses = self._scheduler.uses
        return area_of(self._body, uses, self.ii, shift_registers=self._shifts)

    def _units(self) -> dict[Hashable, int]:
        made = units_of(self._body, self._scheduler.uses, self.ii)
        return {use: count for use, (_, count) in made.items()}
