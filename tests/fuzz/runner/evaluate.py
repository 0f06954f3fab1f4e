"""Builds one program on targets, calls it and compares."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import allo
import allo.dataflow as df
from allo.backend.rtl.regions.foretell import FIRST_RUN
from allo.errors import (
    AlloError,
    BoundsError,
    DeadlockError,
    SimulationError,
    StepsExceededError,
    UndefinedReadError,
)

from ..generator.memory import FROM_MEMORY, draw_memory_steps
from ..generator.options import drawn
from ..generator.program import Program, Step
from ..generator.schedules import apply_step, draw_step
from ..generator.values import inputs
from .builds import build, cpu_options
from .compare import difference
from .forms import Fork, Misbehaved, edit_source, refuses_copies
from .icarus import fault_in_icarus
from .room import has_room, with_deep_fifos
from .searched import Unsound, is_plain, search
from .space import namespace, template_arguments
from .verdict import ERROR, OK, REJECT, WRONG, Verdict, is_named, normalised, reason_of

STUCK, OUTSIDE = "stuck", "out of bounds"
_HARDWARE = ("jit", "verilator", "icarus")
_RESTARTED = ("jit", "verilator")

Outcome = tuple[list[Any], list[Any]] | str
"""Arguments after a call and its results, STUCK, or OUTSIDE."""


@dataclass(slots=True)
class Prepared:
    """A program with its schedule, its reference and what is known of it so far."""

    program: Program
    space: dict[str, Any]
    schedule: Any
    verdict: Verdict
    want: list[Outcome] = field(default_factory=list)
    other: Any = None  # the copy of the schedule, if one was taken


class Failed(Exception):
    """Ends the evaluation of a program; the verdict says why."""


def evaluate(
    program: Program, targets: list[str], phase: Callable[[str], None], *, oracle: bool = True
) -> Verdict:
    """Run a program on ``targets`` and compare each with the reference."""
    verdict = Verdict(program.seed, OK, features=list(program.features), options=drawn(program))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with namespace(program) as space:
                prepared = prepare(program, space, verdict, phase, oracle=oracle)
                for target in targets:
                    check_target(prepared, target, phase)
                if prepared.other is not None and targets:
                    _check_copy(prepared, targets, phase)
        except Failed:
            pass
    return verdict


def prepare(
    program: Program,
    space: dict[str, Any],
    verdict: Verdict,
    phase: Callable[[str], None],
    *,
    oracle: bool = True,
) -> Prepared:
    """Customise, schedule, and find out what is right."""
    phase("customize")
    try:
        if program.edited:
            edit_source(program, space, lambda: customized(program, space))
        schedule = customized(program, space)
    except Misbehaved as error:
        raise _misbehaved(verdict, "edited source", error) from None
    except (Exception, SystemExit) as error:
        raise _ended(verdict, "customize", error) from None
    prepared = Prepared(program, space, schedule, verdict)
    _schedule(prepared, phase)
    if program.searched:
        _search(prepared, phase)
    prepared.want = _reference(prepared, phase, oracle=oracle)
    return prepared


def customized(program: Program, space: dict[str, Any]) -> Any:
    """The schedule of the program's top, without steps."""
    top = space[program.top]
    given = template_arguments(program, space) or None
    make = df.customize if program.region else allo.customize
    schedule = make(top, instantiate=given)
    schedule._fuzz_space = space
    return schedule


def _schedule(prepared: Prepared, phase: Callable[[str], None]) -> None:
    phase("schedule")
    program = prepared.program
    fork = Fork(program.seed) if program.copied else None
    try:
        for number, step in enumerate(_steps(prepared)):
            if fork is not None:
                prepared.schedule = fork.step(prepared.schedule, number)
            _apply(prepared, step)
        if fork is not None:
            prepared.schedule = fork.step(prepared.schedule, 0, last=True)
            fork.schedule_other(
                prepared.schedule, lambda other, rng: _schedule_copy(prepared, other, rng)
            )
            prepared.other = fork.other
    except Misbehaved as error:
        raise _misbehaved(prepared.verdict, "schedule", error) from None


def _search(prepared: Prepared, phase: Callable[[str], None]) -> None:
    """Put what a search finds in place of the schedule; where it refuses by name, that is counted."""
    phase("autoschedule")
    verdict = prepared.verdict
    try:
        prepared.schedule, refusal = search(prepared.program, prepared.schedule)
    except Unsound as error:
        verdict.status, verdict.target, verdict.detail = WRONG, "autoschedule", str(error)
        verdict.reason = normalised(verdict.detail)
        raise Failed from None
    except (Exception, SystemExit) as error:
        raise _ended(verdict, "autoschedule", error) from None
    if refusal:
        verdict.refused.append(f"autoschedule: {normalised(refusal)}")
    else:
        verdict.agreed.append("autoschedule")
        if not is_plain(prepared.schedule):
            verdict.agreed.append("autoschedule beyond pipelines")


def _steps(prepared: Prepared) -> Iterator[Step]:
    """The steps of a program, or random ones, each drawn from what the schedule then holds."""
    program = prepared.program
    if program.steps is not None:
        yield from program.steps
        return
    rng = random.Random(f"{program.seed}/schedule")
    if FROM_MEMORY in program.features:
        yield from draw_memory_steps(prepared.schedule, program, rng)
        return
    for _ in range(_count(program, rng)):
        step = _drawn_step(prepared, prepared.schedule, rng)
        if step is not None:
            yield step


def _drawn_step(prepared: Prepared, schedule: Any, rng: random.Random) -> Step | None:
    try:
        return draw_step(schedule, prepared.program, rng)
    except (Exception, SystemExit) as error:
        raise _ended(prepared.verdict, "schedule", error) from None


def _schedule_copy(prepared: Prepared, other: Any, rng: random.Random) -> None:
    """A step more for the copy, which may be refused by name."""
    step = _drawn_step(prepared, other, rng)
    if step is None:
        return
    try:
        apply_step(other, step, prepared.space)
    except (Exception, SystemExit) as error:
        if not is_named(error):
            raise _ended(prepared.verdict, "copy", error, step.primitive) from None


def _count(program: Program, rng: random.Random) -> int:
    if program.searched:
        return rng.choice((0, 0, 0, 1, 2))
    if "nests" in program.features:
        return rng.choice((0, 1, 2, 3, 3, 4, 5))
    return rng.choice((0, 0, 0, 1, 1, 2, 3))


def _apply(prepared: Prepared, step: Step) -> None:
    about = [step.primitive, list(step.args), [list(p) for p in step.kwargs]]
    prepared.verdict.steps.append(about)
    try:
        apply_step(prepared.schedule, step, prepared.space)
    except (Exception, SystemExit) as error:
        if not is_named(error):
            raise _ended(prepared.verdict, "schedule", error, step.primitive) from None
        prepared.verdict.steps.pop()
        prepared.verdict.refused.append(f"{step.primitive}: {type(error).__name__}")


def _ended(verdict: Verdict, target: str, error: BaseException, what: str = "") -> Failed:
    verdict.status = REJECT if is_named(error) else ERROR
    verdict.target = target
    verdict.reason = f"{what}: {reason_of(error)}" if what else reason_of(error)
    verdict.detail = f"{type(error).__name__}: {error}"
    return Failed()


def _misbehaved(verdict: Verdict, target: str, error: Misbehaved) -> Failed:
    verdict.status, verdict.target = WRONG, target
    verdict.reason = verdict.detail = str(error)
    return Failed()


# --- the reference ----------------------------------------------------------------


def _reference(prepared: Prepared, phase: Callable[[str], None], *, oracle: bool) -> list[Outcome]:
    program, verdict = prepared.program, prepared.verdict
    reassociated = program.reassociated or program.searched.get("reassociate", False)
    rounds_otherwise = reassociated and program.has_floats
    flushes = "subnormals" in program.options and program.has_floats
    if oracle and program.exact and not rounds_otherwise and not flushes:
        phase("oracle")
        try:
            given = template_arguments(program, prepared.space) or None
            runner = allo.interpret(prepared.space[program.top], instantiate=given)
            found = outcomes(program, runner)
        except (BoundsError, StepsExceededError, UndefinedReadError) as error:
            raise _ended(verdict, "oracle", error) from None  # the generator's fault, not a program
        except (Exception, SystemExit) as error:
            verdict.refused.append(f"oracle: {reason_of(error)}")
        else:
            verdict.oracle = True
            return found
    phase("reference")
    try:
        # The order of a reassociated sum is that of the scheduled program's loops.
        source = prepared.schedule if rounds_otherwise else customized(program, prepared.space)
        return outcomes(program, source.build(opt_level=0, **cpu_options(program)))
    except (Exception, SystemExit) as error:
        raise _ended(verdict, "reference", error) from None


def outcomes(program: Program, module: Callable[..., Any], runs: int = 0) -> list[Outcome]:
    """What each call of the program gives, or the first ``runs`` of them."""
    found: list[Outcome] = []
    for run in range(runs or program.runs):
        args = inputs(program, run)
        try:
            results = module(*args)
        except BoundsError:
            if not program.checked:
                raise
            found.append(OUTSIDE)
            return found
        except DeadlockError:
            found.append(STUCK)
            return found
        except SimulationError:
            if not program.deadlock:
                raise
            found.append(STUCK)
            return found
        found.append((args, _listed(results)))
    return found


def _listed(results: Any) -> list[Any]:
    if results is None:
        return []
    return list(results) if isinstance(results, (list, tuple)) else [results]


# --- targets ------------------------------------------------------------------------


def check_target(prepared: Prepared, target: str, phase: Callable[[str], None]) -> None:
    """Build, call, compare."""
    phase(f"{target} build")
    try:
        module = build(prepared, target)
        if prepared.program.copied:
            refuses_copies(module)
    except Misbehaved as error:
        raise _misbehaved(prepared.verdict, f"{target} build", error) from None
    except (Exception, SystemExit) as error:
        raise _ended(prepared.verdict, f"{target} build", error) from None
    run_module(prepared, target, module, phase)


def _check_copy(prepared: Prepared, targets: list[str], phase: Callable[[str], None]) -> None:
    """What the copy of a schedule gives is right as well: on the CPU, and of some kernels in hardware."""
    program = prepared.program
    in_hardware = "jit" in targets and not program.region and program.seed % 4 == 0
    check_target(replace(prepared, schedule=prepared.other), "jit" if in_hardware else "cpu", phase)
    prepared.verdict.agreed[-1] = "copy"


def run_module(prepared: Prepared, target: str, module: Any, phase: Callable[[str], None]) -> None:
    """Call a built module and compare every call with the reference."""
    verdict, program = prepared.verdict, prepared.program
    phase(f"{target} run")
    got = _called(prepared, target, module, program.runs)
    if _answers_with_more_room(prepared, target, got):
        phase("oracle")
        prepared = replace(prepared, want=_roomy_reference(program))
    compare(prepared, target, got)
    if target in _HARDWARE and got[-1] != OUTSIDE:
        _check_cycles(prepared, target, module)
    bare = target == "icarus" and module.design.board is None
    if bare and not isinstance(got[0], str) and "no end" not in program.features:
        _check_icarus(prepared, module)
    if target in _RESTARTED and program.restarted:
        phase(f"{target} run")
        module.reset()
        first = replace(prepared, want=prepared.want[:1])
        compare(first, target, _called(prepared, target, module, 1), "behind a reset")
    verdict.agreed.append(target)


def _called(prepared: Prepared, target: str, module: Any, runs: int) -> list[Outcome]:
    """What calls of a built module give; an exception ends the program."""
    verdict = prepared.verdict
    try:
        return outcomes(prepared.program, module, runs)
    except (Exception, SystemExit) as error:
        verdict.status, verdict.target = ERROR, f"{target} run"
        verdict.reason, verdict.detail = reason_of(error), f"{type(error).__name__}: {error}"
        if isinstance(error, AlloError):
            verdict.reason = f"{type(error).__name__}: {verdict.reason.split(': ', 1)[-1]}"
        raise Failed from None


def _answers_with_more_room(prepared: Prepared, target: str, got: list[Outcome]) -> bool:
    """Whether hardware goes on where the program gets stuck for want of depth, as it may."""
    stuck_at = len(prepared.want) - 1
    if target not in _HARDWARE or prepared.want[stuck_at] != STUCK:
        return False
    goes_on = len(got) > stuck_at and got[stuck_at] != STUCK
    return goes_on and has_room(prepared.program, prepared.verdict)


def _roomy_reference(program: Program) -> list[Outcome]:
    deep = with_deep_fifos(program)
    with namespace(deep) as space:
        given = template_arguments(deep, space) or None
        return outcomes(deep, allo.interpret(space[deep.top], instantiate=given))


def compare(prepared: Prepared, target: str, got: list[Outcome], when: str = "") -> None:
    """Raise Failed where a target's outcomes are not the reference's; ``when`` says which calls these are."""
    verdict, program = prepared.verdict, prepared.program
    for run, want in enumerate(prepared.want):
        if run >= len(got) or isinstance(want, str) or isinstance(got[run], str):
            if run < len(got) and want == got[run]:
                continue
            shown = got[run] if run < len(got) and isinstance(got[run], str) else "an answer"
            found: str | None = (
                f"{shown} in place of {want if isinstance(want, str) else 'an answer'}"
            )
        else:
            found = difference(got[run], want, program.arguments)
        if found:
            verdict.status, verdict.target, verdict.reason = WRONG, target, "values differ"
            if STUCK in found:
                verdict.reason = "stuck"
            by = "oracle" if verdict.oracle else "unscheduled CPU build"
            verdict.detail = f"call {run}{when and f' {when}'}: {found}, by the {by}"
            raise Failed


def _check_cycles(prepared: Prepared, target: str, module: Any) -> None:
    """Where nothing stalls the report's cycles are those measured."""
    verdict = prepared.verdict
    if prepared.program.seed % 4 == 0:  # estimates of resources take as long as the build
        module.design.estimate_resources()
    predicted = module.design.report.cycles
    outside = module.options.memory if hasattr(module, "options") else None
    wrapped = outside or getattr(module.design, "board", None) is not None
    if predicted is None or wrapped or prepared.program.region or module.cycles == predicted:
        return
    if FIRST_RUN in module.design.report.notes:
        module.reset()
        _called(prepared, target, module, 1)
        if module.cycles == predicted:
            return
    verdict.status, verdict.target, verdict.reason = WRONG, target, "cycles differ"
    verdict.detail = f"{module.cycles} cycles measured, {predicted} predicted"
    raise Failed


def _check_icarus(prepared: Prepared, module: Any) -> None:
    """The Verilog does in Icarus what the in-process engine does."""
    verdict = prepared.verdict
    found = fault_in_icarus(prepared.program, module)
    if not found:
        return
    verdict.status, verdict.target, verdict.reason = WRONG, "icarus", "the test bench fails"
    verdict.detail = found
    raise Failed


def scheduled(program: Program, verdict: Verdict) -> Program:
    """The program with the steps that were drawn for it."""
    found = copy.copy(program)
    found.steps = [
        Step(name, tuple(args), tuple((k, v) for k, v in kwargs))
        for name, args, kwargs in verdict.steps
    ]
    return found
