"""A stage of an accelerator as one object, and the builder that makes a design of stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import allo
import allo.dataflow as df
from allo.customize import Schedule


class Loops:
    """Loops of a report by function and iterator name; KeyError if there is no such loop."""

    def __init__(self, report: Any) -> None:
        self._functions = {function.name: function for function in report.functions}

    def __contains__(self, function: str) -> bool:
        return function in self._functions

    def _find(self, function: str, name: str) -> Any:
        found = [
            loop
            for loop in _flatten(self._functions[function].loops)
            if loop.name.split(".")[-1].split("*")[-1] == name
        ]
        if not found:
            raise KeyError(f"{function} has no loop {name!r}")
        return found[0]

    def depth(self, function: str, name: str) -> int:
        """Cycles of one iteration of a loop."""
        depth: int = self._find(function, name).depth
        return depth

    def interval(self, function: str, name: str) -> int:
        """Cycles between two iterations of a loop."""
        interval: int = self._find(function, name).ii
        return interval

    def cycles(self, function: str, name: str) -> int:
        """Cycles of one entry of a loop."""
        cycles: int = self._find(function, name).cycles
        return cycles

    def row(self, function: str) -> int:
        """Cycles of one iteration of a function's outer loop."""
        depth: int = self._functions[function].loops[0].depth
        return depth


def _flatten(loops: list[Any]) -> list[Any]:
    return [one for loop in loops for one in (loop, *_flatten(loop.children))]


def pipelined(loops: str, registers: str = "", **banks: int) -> Callable[..., Schedule]:
    """A schedule of a kernel: its loops are pipelined, at the interval that the call names or 1.

    Args:
        loops, registers: names of loops, and of arrays that are registers, with spaces between them.
        banks: arrays by name, and the dimension along which each has memories of its own.
    """

    def schedule(s: Schedule, interval: int = 1) -> Schedule:
        for array, dim in (*((name, 0) for name in registers.split()), *banks.items()):
            s.partition(f"{s.top_func_name}:{array}", dim=dim)
        for loop in loops.split():
            s.pipeline(f"{s.top_func_name}:{loop}", initiation_interval=interval)
        return s

    return schedule


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that processes call, of given sizes, with its schedule.

    Attributes:
        sizes: its template arguments.
        schedule: takes the schedule of the kernel alone, and gives it with its primitives applied.
        id: what tells it from the same kernel of other sizes.
    """

    function: Callable[..., Any]
    sizes: tuple[int, ...]
    schedule: Callable[[Any], Any]
    id: str = ""

    @property
    def template(self) -> tuple[int | str, ...]:
        """What stands behind a star in the brackets of a call: ``multiply[*ELEMENT](…)``."""
        return (*self.sizes, self.id) if self.id else self.sizes

    @property
    def name(self) -> str:
        """The name of its function in the report."""
        return f"{self.function.__name__}_{self.id}" if self.id else self.function.__name__


@dataclass(frozen=True, slots=True)
class Stage:
    """What stands between two streams: processes, schedule, cycles and arithmetic, in one object.

    A function makes it of the sizes of a design, so that these stand once: it declares the part with its
    closure, and lists the kernels that the part calls with the same sizes. Stages are joined by the names
    of their streams, and of the arrays outside; see :class:`allo.dataflow.Composition`.

    Attributes:
        part: its processes and streams, a function with ``@df.part()``.
        kernels: that its processes call.
        loops: of the processes themselves that are pipelined, as ``process:loop``.
        registers: arrays of the processes themselves that are registers, as ``process:array``.
        banks: the dimension up to which an argument has memories of its own.
        also: applies what else there is to the schedule of the design.
        delay: cycles from the last word that it takes to the first one that it gives, by a report.
        reference: the arithmetic in NumPy, bit for bit; None where words only move.
    """

    part: Callable[..., Any]
    kernels: tuple[Kernel, ...] = ()
    loops: tuple[str, ...] = ()
    registers: tuple[str, ...] = ()
    banks: Mapping[str, int] = field(default_factory=dict)
    also: Callable[[Any], None] = lambda s: None
    delay: Callable[[Loops], float] = lambda loops: 0.0
    reference: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A stage in a design: its place, and the streams that are called otherwise there."""

    stage: Stage
    at: tuple[int | str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


def build_stages(
    name: str,
    arguments: Sequence[str],
    stages: Iterable[Stage | Placed],
    common: Sequence[str] = (),
    values: Mapping[str, int] | None = None,
) -> Any:
    """A design of stages with its schedule applied, kernels below its processes first.

    Args:
        arguments: of the design, in the order of a call.
        common: streams between stages at different places.
        values: numbers that scalars of the stages stand for, which are then no arguments.
    """
    placed = [one if isinstance(one, Placed) else Placed(one) for one in stages]
    region = df.Composition(name, arguments, common, values or {})
    for one in placed:
        region.add(one.stage.part, one.at, one.names)
    s = df.customize(region, share=False)
    kernels = {kernel.name: kernel for one in placed for kernel in one.stage.kernels}
    for kernel in kernels.values():
        alone = allo.customize(kernel.function, instantiate=list(kernel.sizes))
        s.compose(kernel.schedule(alone), id=kernel.id or None)
    banks = {array: last for one in placed for array, last in one.stage.banks.items()}
    for array, last in banks.items():
        for dim in range(1, last + 1):
            s.partition(f"{name}:{array}", dim=dim)
    for one in placed:
        for array in one.stage.registers:
            s.partition(_own(array, one.at))
        for loop in one.stage.loops:
            s.pipeline(_own(loop, one.at))
        one.stage.also(s)
    return s


def _own(name: str, at: tuple[int | str, ...]) -> str:
    """A loop or an array of a process, of which there is one at a place."""
    process, inner = name.split(":")
    if process[-1].isdigit():
        return name
    return f"{'_'.join([process, *(str(part) for part in at), '0'])}:{inner}"
