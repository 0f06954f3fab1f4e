"""The search: solve the model, build the report of its best choice, correct the model, solve again."""

from __future__ import annotations

import copy
import time
import warnings
from dataclasses import dataclass, field, replace

from allo.dialects.diagnostics import AlloError, AutoscheduleError, CapacityWarning, ClockWarning
from allo.schedule import Schedule

from .apply import Step, StepFailed, apply, plain_steps, steps_of
from .budget import Asked, Built, Progress, check_units, excess, too_large, what_limits
from .check import Checker
from .greedy import first_choice
from .model.kernel import Kernel
from .model.rows import Space, space_of
from .model.units import Units
from .solve import Choice, Corrections, Problem
from .trace import Trace, Tried

STALE = 3
"""Designs in a row that are no better, after which the search only asks how far the bound is."""
ENOUGH = 0.002
"""A gap below which the search ends."""
SOLVE = 10.0
"""Seconds of one solution of the integer program, at most."""
REORDERED = "sums within 1e-4, as they are added in another order"
OF_AREA = 0.03
"""What a whole device of lookup tables is worth, as a share of the cycles."""


@dataclass(slots=True)
class Search:
    """One search."""

    given: Schedule
    kernel: Kernel
    asked: Asked
    checker: Checker
    trace: Trace
    began: float = field(default_factory=time.monotonic)
    corrections: Corrections = field(default_factory=Corrections)
    good: list[Built] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    longest: float = 0.0

    def run(self) -> Built:
        """The best schedule found.

        Raises:
            AutoscheduleError: no schedule fits the limits.
        """
        check_units(self.kernel, self._units(), self.asked.limits)
        plain = self._plain()
        try:
            self._refine()
            self.trace.ended = self.trace.ended or "time is used up"
        except KeyboardInterrupt:
            self.trace.ended = "interrupted"
            if not self.good:
                raise
        best = self._verified(plain)
        self._account(best)
        return best

    # --- what there is before anything is chosen -----------------------------------------------

    def _plain(self) -> Built:
        """The kernel with its innermost loops pipelined, or as it is given where that does not fit."""
        steps = plain_steps(self.kernel)
        found = None
        kept: list[Step] = []
        for step in steps:
            trial = copy.copy(self.given)
            try:
                apply(trial, [*kept, step])
                kept.append(step)
            except StepFailed:
                continue
        for tried in (kept, []):
            made = self._build(tried, None)
            if made is None:
                continue
            found = made if found is None or made.cycles < found.cycles else found
            if tried:
                self.trace.plain = made.report.cycles
            if not excess(self.asked.limits, made.report):
                self.good.append(made)
        if found is None:
            raise AutoscheduleError(
                f"No hardware can be made of {self.kernel.top}: {self.trace.tried[-1].note}.",
                help="build it with s.build(target='verilog') to see the whole error.",
            )
        if not self.good:
            raise too_large(self.given, excess(self.asked.limits, found.report))
        return self.good[0]

    # --- the loop -------------------------------------------------------------------------------

    def _refine(self) -> None:
        units, stale = self._units(), 0
        problem = self._problem(units)
        if not problem.space.rows:
            self.trace.ended = "nothing is left to choose but pipelines"
            return
        self.trace.looked_at = problem.space.looked_at
        while self._left() > 0 and stale < STALE:
            choice = self._next(problem)
            if choice is None:
                self.trace.proved = True
                break
            built = self._try(problem, choice)
            if isinstance(built, Problem):
                problem = built
                continue
            better = built is not None and built is self._best()
            fits = built is not None and built in self.good
            stale = 0 if better or not fits else stale + 1
        self._bound(problem)
        if stale >= STALE:
            self.trace.ended = f"{STALE} designs in a row were no better"
        if self.trace.proved:
            self.trace.ended = "nothing better is left by the model"

    def _problem(self, units: Units) -> Problem:
        space = space_of(self.kernel, units, self.asked.limits, reassociate=self.asked.reassociate)
        objective = "area" if self.asked.objective == "area" else "cycles"
        most = self.asked.max_cycles or (self.trace.plain if objective == "area" else None)
        return Problem(self.kernel, space, units, self.asked.limits, objective, most)

    def _variants(self) -> list[bool]:
        """Whether tasks may run at the same time: where not every two wait for one another."""
        tasks = len(self.kernel.tasks)
        pairs = tasks * (tasks - 1) // 2
        return [False, True] if tasks > 1 and len(self.kernel.waits) < pairs else [False]

    def _next(self, problem: Problem) -> Choice | None:
        """The best choice of the model that was not made yet."""
        found: list[Choice] = []
        below = self._below(problem)
        for dataflow in self._variants():
            limit = min((c.cycles for c in found), default=None)
            limit = below if limit is None or below is None else min(limit, below)
            for _ in range(6):
                choice = problem.solve(
                    self.corrections,
                    dataflow=dataflow,
                    seconds=min(SOLVE, max(1.0, self._left())),
                    below=limit,
                )
                if choice is not None or limit is None or self._chosen_before() or found:
                    break
                limit *= 2
            if choice is not None:
                found.append(choice)
                self.trace.bound = max(self.trace.bound, 0)
        if problem.objective == "area":
            return min(found, key=lambda c: c.lut, default=None)
        return min(found, key=lambda c: c.cycles, default=None)

    def _chosen_before(self) -> bool:
        """Whether a choice of the model is among the designs that fit."""
        return any(built.choice is not None for built in self.good)

    def _below(self, problem: Problem) -> int | None:
        """Cycles by the model from which on a choice is not worth a try."""
        if problem.objective == "area":
            return None
        chosen = [b for b in self.good if b.choice is not None]
        if chosen:
            best = self._best()
            ratios = [b.cycles / max(1, b.choice.cycles) for b in chosen if b.choice is not None]
            return max(1, int(best.cycles / max(0.5, min(ratios))))
        limits = self.asked.limits
        scaled = replace(
            limits,
            lut=None if limits.lut is None else int(limits.lut / max(1.0, self.corrections.lut)),
            dsp=None if limits.dsp is None else int(limits.dsp / max(1.0, self.corrections.dsp)),
        )
        first = first_choice(self.kernel, problem.space, problem.units, scaled)
        if first is None:
            return None
        nests = self.kernel.nests
        cycles = sum(row.cycles * nests[n].entries for n, row in first.items())
        return int(cycles * 1.01) + 1

    def _try(self, problem: Problem, choice: Choice) -> Built | Problem | None:
        """Build the report of a choice; a smaller problem where a primitive refused something."""
        self.corrections.done.append(choice)
        steps = steps_of(self.kernel, choice, reassociate=self.asked.reassociate)
        text = repr(steps)
        if text in self.seen:
            return None
        self.seen.add(text)
        trial = copy.copy(self.given)
        try:
            apply(trial, steps)
        except StepFailed as failed:
            self.trace.unexplored.append(f"{failed.step.primitive}: {failed.reason}")
            return self._without(problem, choice, failed)
        built = self._build(steps, choice, trial)
        if built is None:
            return None
        self._learn(built, choice)
        if not excess(self.asked.limits, built.report):
            self.good.append(built)
        self._say("solving")
        return built

    def _without(self, problem: Problem, choice: Choice, failed: StepFailed) -> Problem:
        """The problem without what the primitive has refused."""
        step = failed.step
        space = Space(dict(problem.space.rows), problem.space.units, problem.space.looked_at)
        if step.nest is not None:
            bad = choice.rows.get(step.nest)
            if bad is not None:
                last = bad.order[-1]
                pattern = {n for n, f in bad.factors.items() if f > 1 and n != last}
                space.rows[step.nest] = [
                    row
                    for row in space.rows[step.nest]
                    if row.key != bad.key
                    and not (
                        step.primitive in ("reorder", "split")
                        and row.order == bad.order
                        and pattern <= {n for n, f in row.factors.items() if f > 1}
                    )
                ]
            if not space.rows.get(step.nest):
                space.rows.pop(step.nest, None)
            return replace(problem, space=space)
        if step.primitive == "partition":
            handle = step.arguments[0]
            for key, array in self.kernel.arrays.items():
                if array.handle == handle:
                    self.kernel.arrays[key] = replace(array, obstacle=failed.reason)
            return self._problem(problem.units)
        return problem

    def _learn(self, built: Built, choice: Choice) -> None:
        """Correct the model by what the report says."""
        taken, limits = built.report.resources, self.asked.limits
        if choice.lut:
            self.corrections.lut = max(0.5, taken.get("lut", 0) / choice.lut)
        if choice.dsp:
            self.corrections.dsp = max(1.0, taken.get("dsp", 0) / choice.dsp)
        if limits.bram is not None and taken.get("bram", 0) > limits.bram:
            local = {name for name, array in self.kernel.arrays.items() if array.local}
            banks = 0
            for name in local:
                count = 1
                for (array, _), factor in choice.banks.items():
                    count *= factor if array == name else 1
                banks += count
            self.corrections.bram = max(self.corrections.bram, taken["bram"] / max(1, banks))

    def _bound(self, problem: Problem) -> None:
        """The cycles that no choice is below, by the model."""
        best = self._best()
        if self.trace.proved or problem.objective == "area":
            self.trace.bound = best.cycles if self.trace.proved else 0
            return
        bounds = []
        free = Corrections(self.corrections.lut, self.corrections.dsp, self.corrections.bram)
        for dataflow in self._variants():
            found = problem.solve(
                free, dataflow=dataflow, seconds=SOLVE, below=self._below(problem), small=False
            )
            bounds.append(best.cycles if found is None else found.bound)
        self.trace.bound = min(bounds)

    # --- building -------------------------------------------------------------------------------

    def _build(
        self, steps: list[Step], choice: Choice | None, made: Schedule | None = None
    ) -> Built | None:
        schedule = made or copy.copy(self.given)
        if made is None:
            apply(schedule, steps)
        self._say("building a report")
        began = time.monotonic()
        modelled = None if choice is None else choice.cycles
        try:
            with warnings.catch_warnings():
                for kind in (CapacityWarning, ClockWarning):
                    warnings.simplefilter("ignore", kind)
                report = schedule.estimate(
                    device=self.asked.device,
                    clock_mhz=self.asked.clock_mhz,
                    warnings=False,
                    **self.asked.options,
                )
        except AlloError as error:
            self.trace.tried.append(Tried(None, {}, modelled, error.message))
            return None
        finally:
            self.longest = max(self.longest, time.monotonic() - began)
        note = excess(self.asked.limits, report)
        self.trace.tried.append(
            Tried(report.cycles, report.resources, modelled, note and f"too large: {note}")
        )
        return Built(schedule, report, steps, choice)

    def _score(self, built: Built) -> float:
        lut = self.asked.limits.lut or 1 << 30
        if self.asked.objective == "area":
            within = built.cycles <= (self.asked.max_cycles or self.trace.plain or built.cycles)
            taken = built.report.resources
            return taken.get("lut", 0) + 200 * taken.get("dsp", 0) + (0 if within else 1 << 40)
        clock = 1.0
        if self.asked.objective == "throughput":
            clock = min(self.asked.clock_mhz, built.report.fmax_mhz or self.asked.clock_mhz)
        return built.cycles / clock * (1 + OF_AREA * built.report.resources.get("lut", 0) / lut)

    def _best(self) -> Built:
        return min(self.good, key=self._score)

    # --- the end --------------------------------------------------------------------------------

    def _verified(self, plain: Built) -> Built:
        """The best design that computes what the kernel does."""
        for built in sorted(self.good, key=self._score):
            changed = any(
                step.primitive in ("rebalance", "interleave", "reorder") for step in built.steps
            )
            where = self.checker.differs(built.schedule, reassociated=changed)
            if not where:
                self.trace.checked = self.checker.reason or (
                    "run on the CPU on random arguments beside the kernel as it was given: "
                    + (
                        "sums within 1e-4, as they are added in another order"
                        if changed and self.asked.reassociate
                        else "equal"
                    )
                )
                return built
            self.trace.unexplored.append(f"a design of {built.cycles:,} cycles differed in {where}")
        raise AutoscheduleError(
            f"No schedule of {self.kernel.top} gave the kernel's results.",
            help="this is a fault of Allo; please report it with the kernel.",
        )

    def _account(self, best: Built) -> None:
        trace = self.trace
        trace.cycles = best.report.cycles
        trace.seconds = time.monotonic() - self.began
        trace.unexplored = list(dict.fromkeys(trace.unexplored))
        for nest in self.kernel.nests:
            if nest.obstacle and not nest.children:
                trace.unexplored.append(f"tiles of {nest.name}: {nest.obstacle}")
        trace.limited = what_limits(self.asked.limits, best.report)

    def _units(self) -> Units:
        subnormals = str(self.asked.options.get("subnormals", "keep"))
        return Units(self.asked.device, self.asked.clock_mhz, subnormals)

    def _left(self) -> float:
        """Seconds in which another report can still be made."""
        return self.asked.seconds - (time.monotonic() - self.began) - self.longest

    def _say(self, doing: str) -> None:
        if self.asked.progress is not None:
            cycles = self._best().cycles if self.good else None
            seconds = time.monotonic() - self.began
            self.asked.progress(
                Progress(seconds, len(self.trace.tried), cycles, self.trace.bound, doing)
            )
