"""A dataflow region that is a loop: each task runs its iterations in order, as soon as it may."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.linear import bits_unsigned
from ...read.records import Map, Op
from ..text import ModuleText
from .instances import Instance


@dataclass(frozen=True, slots=True)
class LoopRange:
    """The iterator of the loop: ``trips`` values from ``first`` in steps.

    Attributes:
        values: the numbers of the iterator's values, by which other operations know it.
    """

    first: int
    step: int
    trips: int

    @property
    def width(self) -> int:
        """Bits of every value of the iterator, with a sign."""
        last = self.first + self.step * (self.trips - 1)
        return max(v.bit_length() for v in (self.first, last)) + 1


def loop_range(op: Op) -> LoopRange:
    """The range of a loop with constant bounds."""
    low, high = (_constant(op.attrs[name]) for name in ("lowerBoundMap", "upperBoundMap"))
    step = int(op.attrs["step"])
    return LoopRange(low, step, max(0, -(-(high - low) // step)))


def _constant(bound: Map) -> int:
    return int(bound.results[0][1])


class Iterations:
    """What starts each instance of a region that is a loop, and when the region is done.

    An instance counts the iterations that it has started and those that are over. It starts one when
    that of every other it needs is over (``needs`` of :class:`Instance`), and its own last one.

    Attributes:
        flags: for each instance the bit that says that it starts no more.
    """

    def __init__(self, text: ModuleText, instances: list[Instance], loop: LoopRange) -> None:
        self._text = text
        self._instances = instances
        self._loop = loop
        self._width = bits_unsigned(loop.trips)
        self._running = text.named("running")
        self._begun = [text.named(f"{i.label}_begun") for i in instances]
        self._over = [text.named(f"{i.label}_done") for i in instances]
        self.flags = [text.named(f"{i.label}_over") for i in instances]
        self._now = [self._count(n) for n in range(len(instances))]
        self._parities: dict[int, str] = {}

    def _count(self, number: int) -> str:
        """How many iterations of an instance are over, with one that ends in this cycle."""
        text, width = self._text, self._width
        done = text.extend(self._instances[number].output(text, "done"), 1, width, signed=False)
        return text.binary("add", self._over[number], done, width)

    def start(self, instance: Instance) -> str:
        """The pulse that starts the next iteration of an instance."""
        text, width = self._text, self._width
        number = self._instances.index(instance)
        begun, limit = self._begun[number], text.const(self._loop.trips, width)
        ended = text.compare("eq", begun, limit, width)
        text.alias(self.flags[number], ended, 1)
        free = text.compare("eq", self._now[number], begun, width)
        conditions = [text.any_of("%start", self._running), text.invert(ended), free]
        wide = width + 1
        for first, distance in instance.needs:
            there = text.binary(
                "add",
                text.extend(self._now[first], width, wide, signed=False),
                text.const(distance, wide),
                wide,
            )
            mine = text.extend(begun, width, wide, signed=False)
            conditions.append(text.compare("ugt", there, mine, wide))
        pulse = text.named(f"{instance.label}_go")
        text.alias(pulse, text.all_of(*conditions), 1)
        return pulse

    def parity(self, instance: Instance, pulse: str) -> None:
        """Keep whether an iteration is odd, for arrays with two copies."""
        text = self._text
        number = self._instances.index(instance)
        odd = text.slice(self._begun[number], 0, 1, self._width)
        text.register(instance.parity, odd, 1, enable=pulse)

    def iterator(self, instance: Instance) -> tuple[str, int, bool]:
        """The iterator's value in the iteration that an instance starts."""
        text, loop = self._text, self._loop
        width = max(loop.width, self._width + 1)
        begun = text.extend(
            self._begun[self._instances.index(instance)], self._width, width, signed=False
        )
        if loop.step != 1:
            begun = text.binary("mul", begun, text.const(loop.step, width), width)
        if loop.first:
            begun = text.binary("add", begun, text.const(loop.first, width), width)
        return begun, width, True

    def finish(self, pulses: list[str]) -> str:
        """High when the last iteration of every instance is over."""
        text, width = self._text, self._width
        limit, zero = text.const(self._loop.trips, width), text.const(0, width)
        all_over = [text.compare("eq", now, limit, width) for now in self._now]
        everyone = text.all_of(*all_over)
        more = text.all_of(text.any_of("%start", self._running), text.invert(everyone))
        text.register(self._running, more, 1, reset=0)
        for number, pulse in enumerate(pulses):
            begun = self._begun[number]
            one = text.extend(pulse, 1, width, signed=False)
            following = text.binary("add", begun, one, width)
            text.register(begun, text.mux(everyone, zero, following, width), width, reset=0)
            kept = text.mux(everyone, zero, self._now[number], width)
            text.register(self._over[number], kept, width, reset=0)
        return everyone
