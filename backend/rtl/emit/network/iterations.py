"""A dataflow region that is a loop: each task runs its iterations in order, as soon as it may."""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects.streams.loops.iterations import COPIES

from ...graph.linear import bits_unsigned
from ...read.records import Map, Op
from ..builder import ModuleBuilder
from .instances import Instance


@dataclass(frozen=True, slots=True)
class LoopRange:
    """The iterator of the loop: ``trips`` values from ``first`` in steps.

    Attributes:
        copies: of an array, which its iterations take in turn.
    """

    first: int
    step: int
    trips: int
    copies: int = 2

    @property
    def turns_label(self) -> str:
        """What the number of the copy is called."""
        return "odd" if self.copies == 2 else "turn"

    @property
    def width(self) -> int:
        """Bits of every value of the iterator, with a sign."""
        last = self.first + self.step * (self.trips - 1)
        return max(v.bit_length() for v in (self.first, last)) + 1

    @property
    def following(self) -> int:
        """Bits of a register of the iterator, which ends behind the last value."""
        end = self.first + self.step * self.trips
        return max(self.width, end.bit_length() + 1)


def loop_range(op: Op) -> LoopRange:
    """The range of a loop with constant bounds."""
    low, high = (_constant(op.attrs[name]) for name in ("lowerBoundMap", "upperBoundMap"))
    step = int(op.attrs["step"])
    return LoopRange(low, step, max(0, -(-(high - low) // step)), int(op.attrs.get(COPIES, 2)))


def _constant(bound: Map) -> int:
    return int(bound.results[0][1])


class Iterations:
    """What starts each instance of a region that is a loop, and when the region is done.

    An instance counts the iterations that it has started. It starts one when its last one is over, and when
    that of every other it needs is (``needs`` of :class:`Instance`). For each such pair a counter, its
    *lead*, says how many iterations the instance may start until the other one ends one more.

    Attributes:
        flags: for each instance the bit that says that it starts no more.
    """

    def __init__(self, text: ModuleBuilder, instances: list[Instance], loop: LoopRange) -> None:
        self._text = text
        self._instances = instances
        self._loop = loop
        self._width = bits_unsigned(loop.trips)
        self._running = text.named("running")
        self._begun = [text.named(f"{i.label}_begun") for i in instances]
        self._busy = [text.named(f"{i.label}_busy") for i in instances]
        self._done = [i.output(text, "done") for i in instances]
        self.flags = [text.named(f"{i.label}_over") for i in instances]
        self._free = [
            text.any_of(text.invert(busy), done)
            for busy, done in zip(self._busy, self._done, strict=True)
        ]
        self._leads: list[_Lead] = []
        self._values: dict[int, str] = {}
        self._turns: dict[int, str] = {}

    def start(self, instance: Instance) -> str:
        """The pulse that starts the next iteration of an instance."""
        text, width = self._text, self._width
        number = self._instances.index(instance)
        limit = text.const(self._loop.trips, width)
        ended = text.compare("eq", self._begun[number], limit, width)
        text.alias(self.flags[number], ended, 1)
        conditions = [
            text.any_of("%start", self._running),
            text.invert(self.flags[number]),
            self._free[number],
        ]
        for first, distance in instance.needs:
            lead = _Lead(
                text.named(f"{instance.label}_lead"),
                text.named(f"{instance.label}_waits"),
                first,
                number,
                distance,
            )
            self._leads.append(lead)
            conditions.append(text.any_of(text.invert(lead.empty), self._done[first]))
        pulse = text.named(f"{instance.label}_go")
        text.alias(pulse, text.all_of(*conditions), 1)
        return pulse

    def turn(self, instance: Instance, pulse: str) -> None:
        """Keep which copies of arrays an iteration uses: of two, whether it is odd."""
        text = self._text
        number = self._instances.index(instance)
        if self._loop.copies == 2:
            odd = text.slice(self._begun[number], 0, 1, self._width)
            text.register(instance.turn, odd, 1, enable=pulse)
            return
        self._turns[number] = text.named(f"{instance.label}_next_turn")
        width = bits_unsigned(self._loop.copies - 1)
        text.register(instance.turn, self._turns[number], width, enable=pulse)

    def iterator(self, instance: Instance) -> tuple[str, int, bool]:
        """The iterator's value in the iteration that an instance starts."""
        text, loop = self._text, self._loop
        number = self._instances.index(instance)
        if loop.step == 1 and not loop.first:
            return self._begun[number], self._width, False
        if number not in self._values:
            self._values[number] = text.named(f"{instance.label}_at")
        return self._values[number], loop.following, True

    def finish(self, pulses: list[str]) -> str:
        """High when the last iteration of every instance is over."""
        text, width = self._text, self._width
        rows = zip(self.flags, self._free, strict=True)
        everyone = text.all_of(*(text.all_of(*row) for row in rows))
        more = text.all_of(text.any_of("%start", self._running), text.invert(everyone))
        text.register(self._running, more, 1, reset=0)
        for number, pulse in enumerate(pulses):
            self._count(self._begun[number], (0, 1, width), pulse, everyone)
            if number in self._values:
                loop = self._loop
                steps = (loop.first, loop.step, loop.following)
                self._count(self._values[number], steps, pulse, everyone)
            if number in self._turns:
                self._rotate(self._turns[number], pulse, everyone)
            still = text.all_of(self._busy[number], text.invert(self._done[number]))
            text.register(self._busy[number], text.any_of(pulse, still), 1, reset=0)
        for lead in self._leads:
            self._keep(lead, pulses[lead.second], everyone)
        return everyone

    def _count(self, name: str, steps: tuple[int, int, int], pulse: str, restart: str) -> None:
        """A register that starts at a number and goes on by another one with every pulse."""
        text = self._text
        first, step, width = steps
        mask = (1 << width) - 1
        start = text.const(first & mask, width)
        following = text.binary("add", name, text.const(step & mask, width), width)
        value = text.mux(restart, start, text.mux(pulse, following, name, width), width)
        text.register(name, value, width, reset=first & mask)

    def _rotate(self, name: str, pulse: str, restart: str) -> None:
        """A register of the number of a copy, which goes on with every pulse."""
        text, copies = self._text, self._loop.copies
        width = bits_unsigned(copies - 1)
        last = text.compare("eq", name, text.const(copies - 1, width), width)
        zero = text.const(0, width)
        following = text.binary("add", name, text.const(1, width), width)
        following = text.mux(last, zero, following, width)
        value = text.mux(restart, zero, text.mux(pulse, following, name, width), width)
        text.register(name, value, width, reset=0)

    def _keep(self, lead: _Lead, pulse: str, restart: str) -> None:
        """The registers of a lead: what is left of it, and whether nothing is."""
        text = self._text
        done, width = self._done[lead.first], bits_unsigned(self._loop.trips + lead.distance)
        start, one = text.const(lead.distance, width), text.const(1, width)
        more, less = (text.binary(op, lead.name, one, width) for op in ("add", "sub"))
        gained = text.all_of(done, text.invert(pulse))
        spent = text.all_of(pulse, text.invert(done))
        value = text.mux(gained, more, text.mux(spent, less, lead.name, width), width)
        text.register(lead.name, text.mux(restart, start, value, width), width, reset=lead.distance)
        at_one = text.compare("eq", lead.name, one, width)
        nothing = text.any_of(
            text.all_of(spent, at_one), text.all_of(lead.empty, text.invert(gained))
        )
        none_at_first = text.const(int(not lead.distance), 1)
        empty = text.mux(restart, none_at_first, nothing, 1)
        text.register(lead.empty, empty, 1, reset=int(not lead.distance))


@dataclass(frozen=True, slots=True)
class _Lead:
    """By how many iterations an instance may still go on until another one ends one more.

    Attributes:
        name, empty: the registers of the number, and of the bit that says that it is 0.
        first, second: the instance waited for, and the one that waits.
        distance: the number at the start of the loop.
    """

    name: str
    empty: str
    first: int
    second: int
    distance: int
