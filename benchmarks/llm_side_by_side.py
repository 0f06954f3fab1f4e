"""Designs in simulated RTL beside each other: steps of a reference, dealt to processes until time is up."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from typing import Any

import numpy as np

from allo.designs.llm.wide.block.rows import Rows
from allo.designs.llm.wide.block.tokens.ended import Ended
from benchmarks.llm_blocks import Simulated, Taken

Numbers = SimpleQueue[int | None]
Found = SimpleQueue[tuple[int, Taken | Exception]]
Result = tuple[str, dict[str, int], float, list[Taken]]
"""Of a design: its name, resources, clock in MHz, and what its steps took."""
Models = dict[str, Simulated]
"""What a design runs, by name."""


@dataclass(slots=True)
class Step:
    """A step to simulate: its rows, and the keys and values that were there before.

    Attributes:
        counts: whether it counts for the speed of its way.
        taken: what it took, once it was simulated.
    """

    design: str
    rows: Rows
    spoken: int
    given: Ended | None
    kept: dict[str, np.ndarray]
    counts: bool = True
    taken: Taken | None = None

    @property
    def is_simulated(self) -> bool:
        """Whether its cycles are not those foretold."""
        return self.taken is not None and self.taken.cycles > 0

    @property
    def cycles(self) -> int:
        """Simulated, or else foretold."""
        assert self.taken is not None
        return self.taken.cycles or self.taken.foretold

    def before(self) -> dict[str, np.ndarray]:
        """Keys and values, up to those of the step itself."""
        entries = int(self.rows.before[0])
        return {name: array[:, :entries] for name, array in self.kept.items()}


def simulate(models: Models, step: Step) -> Taken:
    """Simulate a step, and compare everything that it writes."""
    simulated = models[step.design]
    simulated.resume(step.before())
    simulated.step(step.rows, step.spoken, step.given)
    simulated.same_cache()
    return simulated.steps[-1]


def working(models: Models, steps: list[Step], asked: Numbers, found: Found) -> None:
    """Take numbers of steps until None comes; what a step fails with is told, too."""
    while (at := asked.get()) is not None:
        try:
            found.put((at, simulate(models, steps[at])))
        except Exception as error:
            found.put((at, error))


def simulate_all(models: Models, steps: list[Step], workers: int, until: float) -> list[Taken]:
    """Simulate steps in their order by so many processes, which share the design, until time is up.

    Args:
        until: when the last one has to end, by the monotonic clock.

    Returns:
        What each step took, or what is foretold, with no cycles.

    Raises:
        RuntimeError: something that a step wrote is not that of the reference.
    """
    context = get_context("fork")
    asked: Numbers = context.SimpleQueue()
    found: Found = context.SimpleQueue()
    foretold = [models[s.design].foretell(s.rows, s.spoken) for s in steps]
    taken = [Taken(len(s.rows), 0, n, 0) for s, n in zip(steps, foretold, strict=True)]
    left, began, longest = list(range(len(steps))), dict[int, float](), dict[str, float]()

    def ask() -> None:
        now = time.monotonic()
        fits = (at for at in left if now + longest.get(steps[at].design, 0.0) < until)
        at = next(fits, None)
        if at is not None:
            left.remove(at)
            began[at] = now
        asked.put(at)

    for _ in range(min(workers, len(steps))):
        context.Process(target=working, args=(models, steps, asked, found), daemon=True).start()
        ask()
    while began:
        at, one = found.get()
        if isinstance(one, Exception):
            raise one
        taken[at], took = one, time.monotonic() - began.pop(at)
        name = steps[at].design
        longest[name] = max(took, longest.get(name, 0.0))
        note = f"{one.rows} rows, {one.cycles} cycles, {one.foretold} foretold, {took:.0f} s"
        print(f"{name} {at}: {note}", file=sys.stderr, flush=True)
        ask()
    return taken


def forked[T](work: Callable[[], T]) -> Callable[[], T]:
    """Begin work in a process that shares what this one holds.

    Returns:
        What waits for its result, or raises what it failed with.
    """
    context = get_context("fork")
    found: SimpleQueue[tuple[bool, Any]] = context.SimpleQueue()

    def run() -> None:
        try:
            found.put((True, work()))
        except Exception as error:
            found.put((False, error))

    context.Process(target=run).start()

    def result() -> T:
        done, value = found.get()
        if not done:
            raise value
        gave: T = value
        return gave

    return result


@dataclass(slots=True)
class Design:
    """A design in a process of its own, which builds it at once, and then simulates the steps it is given.

    Attributes:
        runs: names of the models that run on it.
        build: gives them.
        result: waits for what it found, or raises what it failed with, once it has begun.
    """

    name: str
    runs: tuple[str, ...]
    build: Callable[[], Models]
    asked: SimpleQueue[list[Step]] = field(default_factory=get_context("fork").SimpleQueue)
    result: Callable[[], Result] = field(init=False)

    def begin(self, workers: int, until: float) -> None:
        """Start the process."""
        self.result = forked(partial(self._work, workers, until))

    def _work(self, workers: int, until: float) -> Result:
        warnings.simplefilter("ignore")
        began = time.monotonic()
        models = self.build()
        print(f"{self.name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        taken = simulate_all(models, self.asked.get(), workers, until)
        report = next(iter(models.values())).built.module.report
        return self.name, report.resources, report.fmax_mhz or 0.0, taken
