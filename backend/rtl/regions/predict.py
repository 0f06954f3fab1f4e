"""Cycles, stalls and fills of a design with regions, foretold from its schedules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..compiled import CompiledModule
from .build import Build, Process
from .native import Longs, Status
from .needs import deciding_inputs, find_needs
from .refusal import Unforeseen
from .tracer import Budget


@dataclass(frozen=True, slots=True)
class FifoFigures:
    """A FIFO in a run.

    Attributes:
        name: of the stream, behind the instance of its region where that is not the top.
        depth, width: words, and bits of a word.
        most: words that it held at most.
        words: words that passed.
        full: cycles that its producer waited because it was full; ``empty``: its consumer, for a word.
    """

    name: str
    depth: int
    width: int
    most: int
    words: int
    full: int
    empty: int

    @property
    def bits(self) -> int:
        """Bits of its words."""
        return self.depth * self.width


@dataclass(frozen=True, slots=True)
class ProcessFigures:
    """A process in a run: its last start and end, and cycles in which it waited."""

    name: str
    start: int
    end: int | None
    stalled: int


@dataclass(frozen=True, slots=True)
class RegionPrediction:
    """A run of a design, foretold."""

    cycles: int
    fifos: tuple[FifoFigures, ...]
    processes: tuple[ProcessFigures, ...]

    @property
    def stalls(self) -> int:
        """Cycles that processes waited for FIFOs, together."""
        return sum(process.stalled for process in self.processes)


class RegionModel:
    """A design whose processes have been followed once: a change of depths costs no more than their times.

    Args:
        modules: compiled functions and regions, by module.
        top: the module of the whole design.
        late: whether the places of puts are given back a cycle later.
        records: how much may be followed; None for any number.

    Raises:
        Unforeseen: the model does not know what decides, or how long something takes.
    """

    def __init__(
        self,
        modules: Mapping[str, CompiledModule],
        top: str,
        *,
        late: bool,
        records: int | None = None,
    ) -> None:
        self.build = Build(modules, top, late, Budget(records), needs=find_needs(modules))
        inputs = deciding_inputs(modules[top], self.build.needs[top])
        if inputs:
            raise Unforeseen(f"the words of {', '.join(inputs)} decide")
        self.build.make()
        root = self.build.root
        assert root is not None
        if isinstance(root, Process):
            assert root.frame is not None
            channels = [root.frame.channels.get(n, -1) for n in range(len(self.build.fifos))]
            life = root.frame.life(root.tracer, [None] * 99, [], channels, [])
            root.begin(life, again=False)
            self.build.follow([root])
        else:
            root.run([None] * len(modules[top].function.parameters), [])
        self.build.finish()
        self._top = root.entity
        self.depths = np.array(
            [1 << 40 if f.outside else f.depth for f in self.build.fifos], np.int64
        )

    def cycles(self, depths: Longs | None = None, limit: int = 0) -> int | None:
        """Cycles of a run with other depths; None where it deadlocks, or takes longer than ``limit``."""
        engine = self.build.engine
        engine.set_depths(self.depths if depths is None else depths)
        status = engine.run(self._top, limit)
        while status is Status.HUNGRY:
            if not self.build.feed(engine.hungry()):
                return None
            status = engine.resume()
        return engine.end if status is Status.DONE else None

    def prediction(self, depths: Longs | None = None) -> RegionPrediction:
        """The whole of a run.

        Raises:
            Unforeseen: it deadlocks.
        """
        cycles = self.cycles(depths)
        if cycles is None:
            raise Unforeseen("it deadlocks")
        return self.figures(cycles, self.depths if depths is None else depths)

    def figures(self, cycles: int, depths: Longs) -> RegionPrediction:
        """What the engine knows of the run behind it."""
        build = self.build
        most, words = build.engine.fills()
        stalled, _ = build.engine.stalls()
        starts, ends = build.engine.times()
        waits = np.zeros((len(build.fifos), 2), np.int64)
        lost = np.zeros(len(build.processes), np.int64)
        for place, cycles_lost in zip(build.channels, stalled, strict=True):
            waits[place.fifo, int(place.putting)] += cycles_lost
            lost[place.process] += cycles_lost
        fifos = tuple(
            FifoFigures(
                ".".join((*place.path, place.name)),
                int(depths[n]),
                place.width,
                int(most[n]),
                int(words[n]),
                int(waits[n, 1]),
                int(waits[n, 0]),
            )
            for n, place in enumerate(build.fifos)
            if not place.outside
        )
        processes = tuple(
            ProcessFigures(
                process.name,
                int(starts[process.entity]),
                int(ends[process.entity]) if ends[process.entity] >= 0 else None,
                int(lost[process.number]),
            )
            for process in build.processes
        )
        return RegionPrediction(cycles, fifos, processes)
