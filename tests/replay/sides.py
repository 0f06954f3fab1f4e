"""The values of one run: those of iterations, those that do not change, and what passes through streams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from . import Unjudged
from .memory import draw
from .reading import Place, Step

type Values = dict[int, int]
type Counters = tuple[tuple[int, int], ...]
"""The loop counters of an iteration, by their nodes' numbers."""


class Frame(dict[int, int]):
    """The values of one iteration, before those of outside."""

    def __init__(self, outside: Values) -> None:
        self._outside = outside

    def __missing__(self, number: int) -> int:
        found = self._outside.get(number)
        if found is None:
            raise Unjudged(f"value {number} of a body that has not run")
        return found


class Side:
    """The values of a function, of the source or of the schedule, with those that do not change."""

    def __init__(self, static: Iterable[Step], constants: Values) -> None:
        self.values: Values = dict(constants)
        self._static = {step.number: (position, step) for position, step in enumerate(static)}
        self._found: dict[int, list[Step]] = {}

    def before(self, key: int, numbers: Iterable[int]) -> list[Step]:
        """The steps of the static body behind some values, in order; they are found once for a key."""
        if key in self._found:
            return self._found[key]
        wanted: dict[int, Step] = {}
        stack = [n for n in numbers if n in self._static]
        while stack:
            position, step = self._static[stack.pop()]
            if position not in wanted:
                wanted[position] = step
                stack += [n for n in step.inputs if n in self._static]
        found = self._found[key] = [step for _, step in sorted(wanted.items())]
        return found

    def knows(self, number: int) -> bool:
        """Whether a value can be told."""
        return number in self.values or number in self._static

    def value(self, number: int) -> int:
        """A value that does not change now."""
        frame = Frame(self.values)
        for step in self.before(-number, (number,)):
            assert step.run is not None
            frame[step.number] = step.run(*[frame[i] for i in step.inputs])
        return frame[number]


@dataclass(slots=True)
class Channels:
    """What came of the streams in one run of a body."""

    got: dict[int, int]
    puts: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def run(self, step: Step, values: Values, iteration: int, seed: int) -> int:
        """One operation; its value."""
        happens = not step.predicate or values[step.predicate]
        stream: int = step.stream.number
        if step.asks:
            answer = draw(step.width, 0, seed, step.number, iteration)
            if step.asks == "try_put" and happens and answer:
                self.puts[stream].append(values[step.inputs[0]])
            return answer
        if not happens:
            return 0
        if step.kind == "put":
            self.puts[stream].append(values[step.inputs[0]])
            return 0
        count = self.got[stream] = self.got.get(stream, 0) + 1
        return draw(step.width, 0, seed, -1, stream, count)


def spot_of(place: Place, values: Values) -> tuple[int, int, int] | None:
    """The word that an access touches; None for a bank that it has not."""
    bank = place.bank
    if bank is None:
        at = values[place.chosen]
        if at >= len(place.candidates):
            return None
        bank = place.candidates[at]
    return place.array.number, bank, values[place.word] if place.word else 0


def numbers_of(steps: Iterable[Step]) -> list[int]:
    """All values that steps read."""
    found: list[int] = []
    for step in steps:
        found += step.inputs
        found.append(step.predicate)
        if step.place is not None:
            found += [step.place.chosen, step.place.word]
    return found
