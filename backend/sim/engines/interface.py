"""What a simulation engine offers: build a model of a design, run transactions on it.

The two engines differ only in how the design itself is evaluated. Clock, start and done, memories
and streams are the same generated driver (:mod:`allo.backend.sim.driver`), so both count the same cycles.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from allo.backend.rtl.design import HardwareDesign
from allo.dialects.diagnostics import UnsupportedTargetError

from ..boundary.traffic import Outside, Traffic


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How a model is built.

    Attributes:
        wave: ``""``, ``"vcd"`` or ``"fst"``: the kind of waveform the model can write.
        outside: external memories and the other ends of streams.
        timeout: seconds an external tool may take.
        randomize: seed of random first contents of registers and memories, which a design must
            not depend on; None for zeros.
        stalls: the probability with which channels of buses stall in a cycle.
    """

    wave: str = ""
    outside: Outside = field(default_factory=Outside)
    timeout: float = 1800.0
    randomize: int | None = None
    stalls: float = 0.0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How one transaction is run.

    Attributes:
        max_cycles: cycles after which a run is given up.
        wave: file the waveform goes to, for a model built for one.
        stall_seed: seed of the random stalls of streams and memories.
    """

    max_cycles: int = 100_000_000
    wave: Path | None = None
    stall_seed: int = 1


@dataclass(slots=True)
class SimResult:
    """What a transaction gave.

    Attributes:
        cycles: cycles from start to done.
        scalars: raw bits of each scalar output, as unsigned Python integers.
        traffic: what passed over streams and memory channels.
    """

    cycles: int
    scalars: dict[str, int] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)


class SimModel(Protocol):
    """A design ready to run. State inside the design lives on between runs."""

    def run(
        self,
        arrays: Mapping[str, np.ndarray],
        scalars: Mapping[str, int],
        options: RunOptions,
    ) -> SimResult:
        """Run one transaction from start to done.

        Args:
            arrays: cells (:mod:`allo.dialects.boundary.storage`) of each array, C-contiguous; those
                the design writes are changed in place. A stream is an array too: the words to
                feed, or room for the words to take.
            scalars: raw bits of each scalar input.

        Raises:
            SimulationError: when the cycle limit is reached or the protocol is broken.
        """
        ...

    def reset(self) -> None:
        """Bring the design back to its initial state."""
        ...

    def close(self) -> None:
        """Free the model."""
        ...


class Engine(Protocol):
    """One way to evaluate a design."""

    name: str

    def build(self, design: HardwareDesign, options: BuildOptions) -> SimModel:
        """Build a model of a design, or take it from the cache.

        Raises:
            SimulationError: the engine does not support what the options ask for.
            BuildError: the tools behind the engine fail.
        """


_ENGINES = {
    "verilator": "allo.backend.sim.engines.verilator:VerilatorEngine",
    "jit": "allo.backend.sim.engines.arc:ArcEngine",
}


def find_engine(name: str) -> Engine:
    """The engine of this name, imported now.

    Raises:
        UnsupportedTargetError: when there is none.
    """
    if name not in _ENGINES:
        known = " or ".join(repr(known) for known in _ENGINES)
        raise UnsupportedTargetError(
            f"There is no simulator {name!r}.", help=f"simulator= takes {known}."
        )
    module, cls = _ENGINES[name].split(":")
    found: Engine = getattr(importlib.import_module(module), cls)()
    return found
