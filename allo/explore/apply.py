"""From a choice to the primitives that make it, applied to a schedule.

All nests are split, then reordered, then pipelined and so on, so that the script that says this has one
table for each primitive.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from allo.dialects.core.partition import Partition
from allo.dialects.diagnostics import AlloError
from allo.schedule import Schedule
from allo.schedule.handles import LoopWrapper

from .model.kernel import WHILE, Dimension, Kernel, Nest, Sum
from .model.rows import Row
from .ports import spread_banks
from .solve import Choice


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a primitive.

    Attributes:
        nest: the number of the nest that it is for.
        optional: whether the others stand where it is refused.
    """

    primitive: str
    arguments: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...] = ()
    nest: int | None = None
    optional: bool = False

    def apply(self, schedule: Schedule) -> None:
        """Call it on a schedule."""
        getattr(schedule, self.primitive)(*self.arguments, **dict(self.options))


class StepFailed(Exception):
    """A primitive refused what the model took for possible; ``step`` is the call."""

    def __init__(self, step: Step, reason: str) -> None:
        super().__init__(reason)
        self.step = step
        self.reason = reason


def apply(schedule: Schedule, steps: list[Step]) -> None:
    """Apply all steps in order.

    Raises:
        StepFailed: a primitive refused one.
    """
    for step in steps:
        try:
            step.apply(schedule)
        except AlloError as error:
            if not step.optional:
                raise StepFailed(step, error.message) from error


def accepted(given: Schedule, steps: list[Step]) -> tuple[Schedule, list[Step]]:
    """A copy of a schedule with those of the steps that no primitive refuses, and these steps."""
    schedule, kept = copy.copy(given), []
    for step in steps:
        try:
            apply(schedule, [step])
            kept.append(step)
        except StepFailed:
            continue
    return schedule, kept


def steps_of(kernel: Kernel, choice: Choice, *, reassociate: bool) -> list[Step]:
    """The primitives that make a choice, in the order in which they are called."""
    made = [
        _Nested(kernel.nests[number], row, reassociate)
        for number, row in sorted(choice.rows.items())
    ]
    steps: list[Step] = []
    for phase in ("turned", "split", "reordered", "partial", "unrolled", "pipelined", "balanced"):
        found = [step for nest in made for step in getattr(nest, phase)()]
        steps += sorted(found, key=lambda step: [name for name, _ in step.options])
    steps += _pipelines(kernel, choice)
    steps += _partitions(kernel, choice)
    if choice.dataflow and not kernel.together:
        steps.append(Step("dataflow", (kernel.top,)))
    return steps


def plain_steps(kernel: Kernel) -> list[Step]:
    """A pipeline for the innermost loops of every nest: what any other schedule is compared with."""
    return [step for nest in kernel.nests if not nest.children for step in _pipeline(nest)]


def _pipeline(nest: Nest) -> Iterator[Step]:
    if not nest.fixed and nest.obstacle != WHILE and nest.chain:
        yield Step("pipeline", (_handle(nest, nest.chain[-1].name),), nest=nest.number)


def _pipelines(kernel: Kernel, choice: Choice) -> Iterator[Step]:
    """Nests of which nothing can be chosen are pipelined as they are."""
    for nest in kernel.nests:
        covered = any(number in choice.rows for number in (nest.number, *kernel.around(nest)))
        if not covered and not nest.children:
            yield from _pipeline(nest)


def _is_exact(found: Sum) -> bool:
    """Whether a sum is one of integers, whose order does not matter."""
    return found.unit[0] == "arith.addi"


def _handle(nest: Nest, loop: str) -> LoopWrapper:
    return LoopWrapper(nest.function, nest.band, loop)


class _Nested:
    """The steps of one nest."""

    def __init__(self, nest: Nest, row: Row, reassociate: bool) -> None:
        self._nest = nest
        self._row = row
        self._trees = reassociate
        self._extents = {loop.name: loop.extent or 1 for loop in nest.chain}
        moved = tuple(loop.name for loop in nest.chain) != row.order
        self._dependent = [loop for loop in nest.chain if not loop.constant]
        self._turned = moved and bool(self._dependent)
        self._last = row.order[-1]

    @property
    def _constant(self) -> set[str]:
        """Loops with constant bounds once the loops are in order."""
        order = list(self._row.order)
        names = {loop.name for loop in self._nest.chain if loop.constant}
        for loop in self._dependent:
            if (
                loop.over
                and loop.over[0] in order
                and order.index(loop.name) < order.index(loop.over[0])
            ):
                names = (names | {loop.name}) - {loop.over[0]}
        return names

    @property
    def _split(self) -> list[str]:
        """The loops that are split; the last one is otherwise unrolled by its factor."""
        others = any(self._row.factors[name] > 1 for name in self._row.order if name != self._last)
        summed = {name for s in self._nest.sums if s.rounded or _is_exact(s) for name in s.over}
        needed = others or self._last in summed
        return [
            loop.name
            for loop in self._nest.chain
            if 1 < self._row.factors[loop.name] < self._extents[loop.name]
            and loop.name in self._constant
            and (loop.name != self._last or needed)
        ]

    @property
    def _whole(self) -> list[str]:
        """Loops that are unrolled whole."""
        return [
            loop.name
            for loop in self._nest.chain
            if 1 < self._extents[loop.name] == self._row.factors[loop.name]
        ]

    def _outer(self, name: str) -> str:
        return f"{name}.outer" if name in self._split else name

    def _step(self, primitive: str, *arguments: Any, **options: Any) -> Step:
        return Step(primitive, arguments, tuple(options.items()), self._nest.number)

    def turned(self) -> Iterator[Step]:
        """Loops of a triangle change places before they are split."""
        if self._turned:
            names = list(self._row.order)
            yield self._step("reorder", *(_handle(self._nest, n) for n in names))

    def split(self) -> Iterator[Step]:
        """Tiles."""
        for name in self._split:
            yield self._step("split", _handle(self._nest, name), self._row.factors[name])

    def reordered(self) -> Iterator[Step]:
        """Loops between tiles, then those inside."""
        start = self._row.order if self._turned else [loop.name for loop in self._nest.chain]
        now: list[str] = []
        for name in start:
            now += [f"{name}.outer", f"{name}.inner"] if name in self._split else [name]
        outers = [self._outer(n) for n in self._row.order if n not in self._whole]
        summed = {n for s in self._nest.sums for n in s.over}
        inside = sorted(
            (n for n in now if n not in outers), key=lambda n: n.split(".")[0] in summed
        )
        wanted = [*outers, *inside]
        first = next((n for n, (a, b) in enumerate(zip(now, wanted, strict=True)) if a != b), None)
        if first is not None:
            yield self._step("reorder", *(_handle(self._nest, n) for n in wanted[first:]))

    def partial(self) -> Iterator[Step]:
        """Partial sums that take turns."""
        if self._row.partial:
            yield self._step("interleave", self._pipelined_loop(False), self._row.partial)

    def unrolled(self) -> Iterator[Step]:
        """The pipelined loop, where it is not split."""
        factor = self._row.factors[self._last]
        if factor > 1 and self._last not in self._split and self._last not in self._whole:
            yield self._step("unroll", self._pipelined_loop(), factor=factor)

    def pipelined(self) -> Iterator[Step]:
        """The pipeline."""
        options: dict[str, Any] = {}
        if self._row.interval > 1:
            options["initiation_interval"] = self._row.interval
        if self._dependent:
            options["rewind"] = True
        yield self._step("pipeline", self._pipelined_loop(), **options)

    def _pipelined_loop(self, inner: bool = True) -> LoopWrapper:
        order = [n for n in self._row.order if n not in self._whole] or [self._last]
        name = self._outer(order[-1])
        return _handle(self._nest, f"{name}.inner" if self._row.partial and inner else name)

    def balanced(self) -> Iterator[Step]:
        """Trees in place of chains of additions; of floats only where their order may change."""
        for name in self._row.order:
            sums = [s for s in self._nest.sums if name in s.over]
            asked = self._trees and any(s.rounded for s in sums)
            if asked or any(_is_exact(s) for s in sums):
                place = f"{name}.inner" if name in self._split else name
                if place != name or name in self._whole:
                    step = self._step("rebalance", _handle(self._nest, place))
                    yield replace(step, optional=not asked)
        for name, rounded in self._nest.inner_sums:
            if rounded and self._trees:
                yield self._step("rebalance", _handle(self._nest, name))


def _partitions(kernel: Kernel, choice: Choice) -> Iterator[Step]:
    """Banks of every array, with more of them where neighbours of a tile would meet at a port."""
    banks: Mapping[Dimension, int] = spread_banks(kernel, choice)
    for (name, dim), factor in sorted(banks.items()):
        array = kernel.arrays[name]
        if factor > 1 and dim not in array.banked:
            yield Step("partition", (array.handle, Partition.Cyclic, dim + 1, factor))
