"""Cycles, stalls and fills of a design with regions, foretold from its schedules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from allo.dialects.diagnostics import DeadlockError, PredictionError
from allo.dialects.reports.figures import place_text
from allo.dialects.reports.regions import FifoReport, ProcessReport, RegionReport, ThrottleReport

from ..compiled import CompiledModule
from ..graph.regions import Function
from .build import Build
from .follow.instances import Inputs, Process
from .follow.needs import deciding_inputs, find_needs
from .follow.races import MOST_GUESSES, ROUNDS, Races
from .follow.tracer import Budget, Hand
from .live import Live, refuse_turns
from .native import Engine, Longs, Status
from .refusal import Unforeseen
from .throttles import chain_of_waits

REPORT_RECORDS = 1 << 17
REPORT_EVENTS = 1 << 23
REPORT_ANSWERS = 1 << 14
REPORT_ROUNDS = 4
"""How much of a design a report follows without being asked: about a second, and a fifth of one where what
is found without waiting decides."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What the model needs of a compiled design.

    Attributes:
        modules: compiled functions and regions, by module.
        top: the module of the whole design.
        late: whether the places of puts are given back a cycle later.
    """

    modules: Mapping[str, CompiledModule]
    top: str
    late: bool

    @property
    def waits(self) -> bool:
        """Whether there is a region or a stream in it."""
        return any(m.graph is not None or m.function.streams for m in self.modules.values())


class HasRegions(Protocol):
    """A design that keeps what foretells the cycles of its regions."""

    compiled: Compiled | None


@dataclass(frozen=True, slots=True)
class RegionPrediction:
    """A run of a design, foretold.

    Attributes:
        cycles: from start to done.
        regions: the regions of the design, with their FIFOs and processes.
    """

    cycles: int
    regions: tuple[RegionReport, ...]
    _model: RegionModel

    @property
    def fifos(self) -> tuple[FifoReport, ...]:
        """All FIFOs."""
        return tuple(fifo for region in self.regions for fifo in region.fifos)

    @property
    def processes(self) -> tuple[ProcessReport, ...]:
        """All processes."""
        return tuple(process for region in self.regions for process in region.processes)

    @property
    def throttles(self) -> tuple[ThrottleReport, ...]:
        """What holds up the end of the run, the most first."""
        return tuple(row for region in self.regions for row in region.throttles)

    @property
    def stalls(self) -> int:
        """Cycles that processes wait for FIFOs, together."""
        return sum(process.stalled for process in self.processes)

    @property
    def model(self) -> RegionModel:
        """What foretold it."""
        return self._model

    def retime(self, depths: Mapping[str, int]) -> RegionPrediction:
        """The same run with other depths of FIFOs, by their names in :attr:`fifos`.

        Raises:
            PredictionError: there is no FIFO of a name, or a depth is none.
            DeadlockError: no process can go on with these depths.
        """
        with _told(self._model.function, "predict"):
            return self._model.prediction(self._model.depths_of(depths))


class RegionModel:
    """A design whose processes have been followed once: a change of depths costs no more than their times.

    Where what is found without waiting decides, every run follows them anew.

    Args:
        again: whether the run is not the first one, which may have initial words to copy.
        records: how much may be followed, None for any number; ``events``: how much may happen in a run.

    Raises:
        Unforeseen: the model does not know what decides, or how long something takes.
    """

    def __init__(
        self,
        compiled: Compiled,
        inputs: Inputs | None = None,
        *,
        again: bool = False,
        records: int | None = None,
        events: int = 0,
    ) -> None:
        modules, top = compiled.modules, compiled.top
        self.function = modules[top].function
        needs = find_needs(modules)
        if inputs is None:
            deciding = deciding_inputs(modules[top], needs[top])
            if deciding:
                raise Unforeseen(
                    f"values of {', '.join(deciding)} decide what it does", given=False
                )
            inputs = Inputs.none(modules[top])
        self._events = events
        self._rounds = ROUNDS if records is None else REPORT_ROUNDS

        def begun(races: Races | None = None) -> Build:
            given = replace(inputs, arrays=deepcopy(inputs.arrays))
            build = Build(
                modules,
                top,
                compiled.late,
                Budget(records),
                given,
                again,
                races or Races(),
                needs=needs,
            )
            build.make()
            if build.timed:
                refuse_turns(build.regions)
                build.budget.limit(REPORT_ANSWERS)
            build.follow_all()
            return build

        self._begun = begun
        self._used = self._keeps = False
        self.build = begun()
        if self.build.endless and not inputs.rooms:
            raise Unforeseen(
                "no process of it ends, so that words from outside say when", given=False
            )
        self.depths = np.array([f.depth for f in self.build.fifos], np.int64)

    def depths_of(self, depths: Mapping[str, int]) -> Longs:
        """All depths, given some of them by name; raises as :meth:`RegionPrediction.retime` does."""
        found = self.depths.copy()
        places = {place.label: n for n, place in enumerate(self.build.fifos) if not place.outside}
        for name, depth in depths.items():
            if name not in places:
                raise PredictionError(
                    f"There is no FIFO {name!r} in the design.",
                    help=f"its FIFOs are {', '.join(places) or 'none'}.",
                )
            if not isinstance(depth, int) or depth < 1:
                raise PredictionError(
                    f"FIFO {name} cannot have a depth of {depth!r}.", help="a depth is 1 or more."
                )
            found[places[name]] = depth
        return found

    def cycles(self, depths: Longs | None = None, limit: int = 0) -> int | None:
        """Cycles of a run with other depths; None where it deadlocks, or takes longer than ``limit``.

        Raises:
            Unforeseen: more happens than the model is allowed to follow.
        """
        status = self._once(depths, limit)
        for _ in range(self._rounds if self.build.races.clients else 0):
            races = self.build.races
            known, right = races.found(self.build.engine.served())
            if right and not (races.cut and status is Status.HUNGRY):
                break
            more = races.guesses * (2 if right else 1)
            if more > MOST_GUESSES:
                raise Unforeseen("a process waits for a word of a memory for too long")
            self.build = self._begun(Races(known, more))
            status = self._once(depths, limit)
        else:
            if self.build.races.clients:
                raise Unforeseen("words that processes load and store at once decide too often")
        engine = self.build.engine
        if status is Status.TOO_MUCH:
            raise Unforeseen(
                "more words pass than a report follows; `predict()` of the module does"
            )
        if status is Status.DEADLOCK and self.build.endless:
            return None if engine.last is None else engine.last + 1
        return engine.end if status is Status.DONE else None

    def _once(self, depths: Longs | None, limit: int) -> Status:
        engine = self.build.engine
        engine.set_depths(self.depths if depths is None else depths)
        engine.keep_waits(self._keeps)
        if self.build.timed:
            return Live(self.build).run(limit, self._events)
        return self._run(engine, limit)

    def _run(self, engine: Engine, limit: int) -> Status:
        status = engine.run(self.build.top_entity, limit, self._events)
        while status is Status.HUNGRY:
            if not self.build.feed(engine.hungry()):
                return Status.HUNGRY if self.build.races.cut else Status.DEADLOCK
            status = engine.resume()
        return status

    def prediction(self, depths: Longs | None = None) -> RegionPrediction:
        """The whole of a run.

        Raises:
            DeadlockError: no process can go on.
        """
        depths = self.depths if depths is None else depths
        if self.build.timed and self._used:
            self.build = self._begun()
        self._used = True
        self._keeps = True
        cycles = self.cycles(depths)
        self._keeps = False
        if cycles is None:
            raise DeadlockError(
                f"The processes of {self.build.name} wait for each other: {self.waits_for()}.",
                help="deeper FIFOs help where one of them waits for room.",
            )
        return RegionPrediction(cycles, tuple(self._reports(depths, cycles)), self)

    def waits_for(self) -> str:
        """Which process waits for what at the end of a run that has deadlocked."""
        _, waiting = self.build.engine.stalls()
        found = []
        for process, number in zip(self.build.processes, waiting, strict=True):
            if number >= 0:
                channel = self.build.channels[int(number)]
                what = "room in" if channel.putting else "a word of"
                found.append(f"{process.name} for {what} {self.build.fifos[channel.fifo].label}")
            elif isinstance(process.awaits, Hand):
                found.append(f"{process.name}, which asks in vain")
        return ", ".join(found)

    def _reports(self, depths: Longs, cycles: int) -> list[RegionReport]:
        """What the engine knows of the run behind it, which took so many cycles."""
        build = self.build
        most, words, _ = build.engine.fills()
        stalled, _ = build.engine.stalls()
        starts, ends = build.engine.times()
        ends[[region.entity for region in build.regions if ends[region.entity] < 0]] = cycles
        waits = np.zeros((len(build.fifos), 2), np.int64)
        lost = np.zeros(len(build.processes), np.int64)
        for place, stall in zip(build.channels, stalled, strict=True):
            waits[place.fifo, int(place.putting)] += stall
            lost[place.process] += stall
        found: list[RegionReport] = []
        for region in build.regions:
            start, end = int(starts[region.entity]), int(ends[region.entity])
            function = region.module.function
            where = place_text(function.place)
            report = RegionReport(function.name, ".".join(region.path), where, end - start)
            for number in region.fifos:
                fifo = build.fifos[number]
                empty, full = (int(count) for count in waits[number])
                size = int(depths[number]), fifo.width
                held = int(most[number]), int(words[number])
                report.fifos.append(FifoReport(fifo.label, *size, *held, full, empty))
            for _, node in region.members:
                if isinstance(node, Process):
                    over = int(ends[node.entity])
                    own = int(lost[node.number])
                    report.processes.append(
                        ProcessReport(node.name, over - start if over >= 0 else None, own)
                    )
            found.append(report)
        if found:
            found[0].throttles = chain_of_waits(build, build.engine.waits(), ends)
        return found


def predict(
    design: HasRegions | Compiled, inputs: Inputs | None = None, *, again: bool = False
) -> RegionPrediction:
    """The cycles of a design, and what its processes wait for.

    Args:
        design: a :class:`~allo.backend.rtl.design.HardwareDesign`, or what is compiled of one.
        inputs: what a run is given; None where no values decide.
        again: whether the design has run before.

    Raises:
        PredictionError: the model cannot tell; the message says why.
        DeadlockError: no process can go on.
    """
    model = model_of(design, inputs, again=again)
    with _told(model.function, "predict"):
        return model.prediction()


def model_of(
    design: HasRegions | Compiled,
    inputs: Inputs | None,
    *,
    asked: str = "predict",
    again: bool = False,
) -> RegionModel:
    """A design's model; ``asked``: what a user calls to give it inputs; ``again``: it has run before.

    Raises:
        PredictionError: the model cannot tell; the message says why.
    """
    compiled = design if isinstance(design, Compiled) else design.compiled
    if compiled is None:
        raise PredictionError(
            "The design has been kept without its schedules.", help="build it anew."
        )
    with _told(compiled.modules[compiled.top].function, asked):
        model = RegionModel(compiled, inputs, again=again)
        if (model.build.timed or model.build.races.clients) and asked == "size_fifos":
            raise Unforeseen(
                "its processes do other things with other depths of the FIFOs they ask"
            )
        return model


@contextmanager
def _told(function: Function, asked: str) -> Iterator[None]:
    """Tell a user why the model cannot tell.

    Raises:
        PredictionError: it cannot.
    """
    try:
        yield
    except Unforeseen as why:
        help = "a simulation counts them."
        if not why.given:
            names = ", ".join(function.argument_names)
            given = f"{asked}({names})" if asked == "predict" else f"{asked}(inputs=[{names}])"
            help = f"give them, as to a call: `{given}`."
        raise PredictionError(
            f"The cycles of {function.name} cannot be foretold, because {why.reason}.",
            why.place or function.place,
            help=help,
        ) from why
