"""The search: solve the model, build the report of its best choice, correct the model, solve again."""

from __future__ import annotations

import copy
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from allo.dialects.diagnostics import AlloError, AutoscheduleError, CapacityWarning, ClockWarning
from allo.schedule import Schedule

from .apply import Step, StepFailed, accepted, apply, plain_steps, steps_of
from .beyond.first import try_first
from .beyond.ordered import in_order
from .beyond.rows import try_rows
from .beyond.triangle import try_triangles
from .beyond.tries import try_fronts, try_hoisted
from .budget import Asked, Built, Progress, check_units, excess, ranked, too_large, what_limits
from .check import Checker
from .deadline import Clock, Overdue, deadline
from .greedy import least_of_pipelines, work_bound
from .model.kernel import Kernel
from .model.rows import space_of
from .model.units import Units
from .narrow import refuse_banks, smaller, without
from .networks import BALANCED, NOTHING, choice_of_layers, greedy_choices, has_many
from .regions.counted import OUTSIDE, has_streams, of_arguments, reported
from .regions.fifos import sized
from .solve import Choice, Corrections, Problem, Unsolved
from .trace import Trace, Tried

NO_TIME, INTERRUPTED = "time is used up", "interrupted"
"""How a search ended that would go on."""
STALE = 3
"""Designs in a row that are no better, after which the search only asks how far the bound is."""
FIRSTS = 3
"""Choices that are made without the solver, of the outermost nests and of the innermost ones."""
CAREFUL = 1.15
"""Lookup tables of a design to those of the model, before any is built: a first design that is too large
costs the time of a second one."""
FAR = 1.5
"""Times the bound, above which a network of nests that the model knows is tried in other ways as well."""
SOLVE = 10.0
"""Seconds of one solution of the integer program, at most."""
REORDERED = "sums within 1e-4, as they are added in another order"
TURNED, COPIED, IN_ORDER = 0.3, 0.75, 0.9
"""Of the time, until when triangles are turned; and of a search with arrays outside, until when designs are
made whose arrays are copied whole, and those that touch them in the order of memory."""
SHORT = 0.5
"""Seconds that are too short to ask the solver for a bound."""


@dataclass(slots=True)
class Search:
    """One search."""

    given: Schedule
    kernel: Kernel
    asked: Asked
    checker: Checker
    trace: Trace
    clock: Clock = field(init=False)
    corrections: Corrections = field(default_factory=lambda: Corrections(lut=CAREFUL))
    good: list[Built] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """The time goes from here."""
        self.clock = Clock(self.asked.seconds, self.asked.timer)

    def run(self) -> Built:
        """The best schedule found.

        Raises:
            AutoscheduleError: no schedule fits the limits.
        """
        check_units(self.kernel, units := self.units, self.asked.limits)
        self.checker.prepare()
        self.clock.kernel = self.elapsed
        problem = self._problem(units)
        many = has_many(problem)
        if not many:
            self._plain()
            problem = self._problem(units)
        try:
            outside = not many and bool(OUTSIDE.intersection(self.asked.options))
            if outside:
                try_first(self)
            if not many:
                try_triangles(self, TURNED)
            if outside:
                try_rows(self)
                self._refine(problem, until=COPIED)
                space = in_order(self.kernel, problem.space)
                self._refine(replace(problem, space=space), until=IN_ORDER)
            if not many:
                try_hoisted(self)
            self._refine(problem)
            if not many:
                try_fronts(self)
            self.trace.ended = self.trace.ended or NO_TIME
        except KeyboardInterrupt:
            self.trace.ended = INTERRUPTED
            if not self.good:
                raise
        if many:
            late = self.clock.left <= 0 and bool(self.good)
            if not late or self._best().cycles > least_of_pipelines(self.kernel):
                self._plain()
            beyond = any(nest.obstacle or nest.children for nest in self.kernel.nests)
            if beyond or self._best().cycles > FAR * self.trace.bound:
                try_hoisted(self, 1.0)
        self._size_fifos()
        best = self._verified()
        self._account(best)
        return best

    def again(self, steps: list[Step], trace: Trace) -> Built | None:
        """What a search made before, applied and checked again; None where it is not the same now."""
        before = trace.tried
        try:
            built = self.build(steps, None)
        except StepFailed:
            built = None
        self.trace.tried.clear()
        if built is None or (built.counted or built.report.cycles) != trace.cycles:
            return None
        if excess(self.asked.limits, built.report):
            return None
        self.good.append(built)
        wanted = self._verified()
        checked, self.trace = self.trace.checked, trace
        trace.tried, trace.checked, self.good = before, checked, []
        trace.ended = f"{trace.ended}; from the cache"
        return wanted

    # --- what there is before anything is chosen -----------------------------------------------

    def _plain(self) -> None:
        """The kernel with its innermost loops pipelined, or as it is given where that does not fit."""
        found = None
        _, kept = accepted(self.given, plain_steps(self.kernel))
        for tried in (kept, []):
            if found is not None and not excess(self.asked.limits, found.report):
                break
            made = self.build(tried, None)
            if made is None:
                continue
            found = made if found is None or made.cycles < found.cycles else found
            if tried:
                self.trace.plain = made.counted or made.report.cycles
            if not excess(self.asked.limits, made.report):
                self.good.append(made)
        if found is None and not self.good:
            raise AutoscheduleError(
                f"No hardware can be made of {self.kernel.top}: {self.trace.tried[-1].note}.",
                help="build it with s.build(target='verilog') to see the whole error.",
            )
        if found is not None and not self.good:
            raise too_large(self.given, excess(self.asked.limits, found.report))

    # --- the loop -------------------------------------------------------------------------------

    def _refine(self, problem: Problem, *, until: float = 1.0) -> None:
        """Solve, build and correct, in so much of the time; the bound is told where that is all of it."""
        stale, share = 0, 1.0 - until
        if not problem.space.rows:
            self.trace.ended = "nothing is left to choose but pipelines"
            return
        self.trace.looked_at = problem.space.looked_at
        while (self.clock.left > share * self.asked.seconds or self._first()) and stale < STALE:
            began = self.elapsed
            try:
                choice = self._next(problem)
                self.clock.solved = self.elapsed - began
            except Unsolved:
                self.trace.ended = "the solver came to no answer in its time"
                break
            if choice is None:
                self.trace.proved = until == 1.0 and not has_many(problem)
                self.trace.ended = BALANCED
                break
            built = self._try(problem, choice)
            if isinstance(built, Problem):
                problem = built
                continue
            better = bool(self.good) and built is self._best()
            fits = built is not None and built in self.good
            stale = 0 if better or not fits else stale + 1
        if until < 1.0:
            return
        self._bound(problem)
        if stale >= STALE:
            self.trace.ended = f"{STALE} designs in a row were no better"
        if self.trace.proved:
            self.trace.ended = "nothing better is left by the model"

    def _problem(self, units: Units) -> Problem:
        space = space_of(
            self.kernel,
            units,
            self.asked.limits,
            reassociate=self.asked.reassociate,
            most_factor=self.asked.most_factor,
        )
        objective = "area" if self.asked.objective == "area" else "cycles"
        most = self.asked.max_cycles or (self.trace.plain if objective == "area" else None)
        return Problem(self.kernel, space, units, self.asked.limits, objective, most)

    def _next(self, problem: Problem) -> Choice | None:
        """The best choice of the model that was not made yet: the first one without the solver.

        Raises:
            Unsolved: the solver came to no answer.
        """
        if has_many(problem):
            fewest = min((b.choice.cycles for b in self.good if b.choice), default=NOTHING)
            left = self.clock.left
            best, self.trace.bound = choice_of_layers(problem, self.corrections, fewest, left / 4)
            return best
        fresh = not self._chosen
        if problem.objective == "cycles" and (fresh or len(self.corrections.done) < FIRSTS):
            done = {c.key for c in self.corrections.done}
            for first in greedy_choices(problem, self.corrections, self.kernel.variants):
                if first.key not in done and (fresh or first.cycles < 2 * self._best().cycles):
                    return first
        found: list[Choice] = []
        for dataflow in self.kernel.variants:
            below = self._below(problem)
            limits = [c.cycles for c in found] + ([] if below is None else [below])
            choice = problem.solve(
                self.corrections,
                dataflow=dataflow,
                seconds=max(1.0, self.clock.left),
                below=min(limits, default=None),
            )
            if choice is not None:
                found.append(choice)
        if problem.objective == "area":
            return min(found, key=lambda c: c.lut, default=None)
        return min(found, key=lambda c: c.cycles, default=None)

    @property
    def _chosen(self) -> bool:
        """Whether a design is good that the model chose, and there are not pipelines alone."""
        return any(b.choice is not None for b in self.good)

    def _first(self) -> bool:
        """Whether the time goes on and no choice of the model was built."""
        none = not any(design.modelled is not None for design in self.trace.tried)
        return none and self.elapsed < self.asked.seconds

    def _below(self, problem: Problem) -> int | None:
        """Cycles by the model from which on a choice is not worth a try."""
        chosen = [(b, b.choice) for b in self.good if b.choice is not None]
        if problem.objective == "area" or not chosen:
            return None
        ratios = [built.cycles / max(1, choice.cycles) for built, choice in chosen]
        return max(1, int(self._best().cycles / min(1.0, max(0.5, min(ratios)))))

    def _try(self, problem: Problem, choice: Choice) -> Built | Problem | None:
        """Build the report of a choice; a smaller problem where a primitive refused something."""
        self.corrections.done.append(choice)
        steps = steps_of(self.kernel, choice, reassociate=self.asked.reassociate)
        if (text := repr(steps)) in self.seen:
            return None
        self.seen.add(text)
        trial = copy.copy(self.given)
        try:
            apply(trial, steps)
        except StepFailed as failed:
            self.trace.unexplored.append(f"{failed.step.primitive}: {failed.reason}")
            if failed.step.nest is None and failed.step.primitive == "partition":
                refuse_banks(self.kernel, failed)
                return self._problem(problem.units)
            return without(problem, choice, failed)
        try:
            built = self.build(steps, choice, trial)
        except Overdue:
            name, copies, problem = smaller(problem, choice)
            self.trace.unexplored.append(f"{copies:,} copies of the body of {name}: too slow")
            return problem
        if built is None:
            return None
        taken, device = built.report.resources, self.asked.device
        self.corrections.learn(self.kernel, choice, taken, self.asked.limits, device)
        if not excess(self.asked.limits, built.report):
            self.good.append(built)
        self._say("solving")
        return built

    def _bound(self, problem: Problem) -> None:
        """The cycles that no choice is below, by the model."""
        if not self.good or has_many(problem):
            return
        best = self._best()
        if self.trace.proved or problem.objective == "area":
            self.trace.bound = best.cycles if self.trace.proved else 0
            return
        bounds = []
        free = Corrections(self.corrections.lut, self.corrections.dsp, self.corrections.bram)
        for dataflow in self.kernel.variants:
            try:
                if (seconds := self.clock.rest) < SHORT:
                    raise Unsolved
                found = problem.solve(
                    free,
                    dataflow=dataflow,
                    seconds=min(SOLVE, seconds),
                    below=self._below(problem) or best.cycles,
                    small=False,
                )
            except Unsolved:
                bounds.append(work_bound(self.kernel, problem.units, self.asked.limits))
                continue
            bounds.append(best.cycles if found is None else min(best.cycles, found.bound))
        self.trace.bound = min(bounds)

    def _size_fifos(self) -> None:
        """Give the FIFOs of the best design the smallest depths that keep its cycles."""
        if not has_streams(self.given):
            return
        best = self._best()
        trial, steps, reason = sized(best.schedule, self._options())
        if reason:
            self.trace.unexplored.append(f"depths of FIFOs: {reason}")
        if steps:
            self.keep([*best.steps, *steps], best.choice, trial)

    # --- building -------------------------------------------------------------------------------

    def keep(
        self, steps: list[Step], choice: Choice | None, made: Schedule, most: float | None = None
    ) -> Built | None:
        """A schedule with its report, kept where it fits; None where that takes over ``most`` seconds."""
        try:
            built = self.build(steps, choice, made, most)
        except Overdue:
            return None
        if built is not None and not excess(self.asked.limits, built.report):
            self.good.append(built)
        return built

    def build(
        self,
        steps: list[Step],
        choice: Choice | None,
        made: Schedule | None = None,
        most: float | None = None,
    ) -> Built | None:
        """A schedule with its report, or None; ``made`` has the steps, ``most`` are seconds of the report.

        Raises:
            Overdue: it takes longer.
        """
        schedule = made or copy.copy(self.given)
        if made is None:
            apply(schedule, steps)
        self._say("building a report")
        began = self.asked.timer()
        modelled = None if choice is None else choice.cycles
        if choice is not None and self.clock.first:
            # Behind the time nothing goes on, unless there is nothing but pipelines yet.
            most = self.clock.most(within=self._chosen)
        limit = nullcontext() if most is None else deadline(most, self.asked.timer)
        try:
            with limit, warnings.catch_warnings():
                for kind in (CapacityWarning, ClockWarning):
                    warnings.simplefilter("ignore", kind)
                report, counted = reported(schedule, self._options(), self.asked.by_time)
        except AlloError as error:
            self.trace.tried.append(Tried(None, {}, modelled, error.message))
            return None
        except Overdue:
            note = f"no report within {self.asked.timer() - began:.1f} s"
            self.trace.tried.append(Tried(None, {}, modelled, note))
            raise
        self.clock.reported(self.asked.timer() - began)
        if (counted or report.cycles) is None and has_streams(schedule):
            counted = of_arguments(schedule, self.checker.arguments, self._options())
        note = excess(self.asked.limits, report)
        cycles = counted or report.cycles
        self.trace.tried.append(
            Tried(cycles, report.resources, modelled, note and f"too large: {note}")
        )
        return Built(schedule, report, steps, choice, counted)

    def _ranked(self) -> list[Built]:
        return ranked(self.asked, self.trace.plain, self.good)

    def _best(self) -> Built:
        return self._ranked()[0]

    # --- the end --------------------------------------------------------------------------------

    def _verified(self) -> Built:
        """The best design that computes what the kernel does."""
        for built in self._ranked():
            other = self.asked.reassociate and any(
                step.primitive in ("rebalance", "interleave", "reorder") for step in built.steps
            )
            where = self.checker.differs(built.schedule, reassociated=other)
            if not where:
                self.trace.checked = self.checker.reason or (
                    "run on the CPU on random arguments beside the kernel as it was given: "
                    + (REORDERED if other else "equal")
                )
                return built
            self.trace.unexplored.append(f"a design of {built.cycles:,} cycles differed in {where}")
        raise AutoscheduleError(
            f"No schedule of {self.kernel.top} gave the kernel's results.",
            help="this is a fault of Allo; please report it with the kernel.",
        )

    def _account(self, best: Built) -> None:
        trace = self.trace
        trace.cycles = best.counted or best.report.cycles
        if trace.cycles and self.asked.objective == "cycles":
            trace.bound = min(trace.bound, trace.cycles)  # designs beside the model may be below it
        trace.seconds = self.elapsed
        trace.unexplored = list(dict.fromkeys(trace.unexplored))
        for nest in self.kernel.nests:
            if nest.obstacle and not nest.children:
                trace.unexplored.append(f"tiles of {nest.name}: {nest.obstacle}")
        trace.limited = what_limits(self.asked.limits, best.report)

    def _options(self) -> dict[str, Any]:
        """Options of estimates and builds."""
        asked = self.asked
        return {"device": asked.device, "clock_mhz": asked.clock_mhz, **asked.options}

    @property
    def units(self) -> Units:
        """What units take on the device."""
        subnormals = str(self.asked.options.get("subnormals", "keep"))
        return Units(self.asked.device, self.asked.clock_mhz, subnormals, self.asked.dsp_factors)

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return self.clock.elapsed

    def _say(self, doing: str) -> None:
        if self.asked.progress is not None:
            cycles = self._best().cycles if self.good else None
            self.asked.progress(
                Progress(self.elapsed, len(self.trace.tried), cycles, self.trace.bound, doing)
            )
