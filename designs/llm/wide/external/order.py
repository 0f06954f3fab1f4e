"""A step foretold where each channel has one reader, which :mod:`.serve` is: line by line, in its order.

A line comes a line's time behind the one before it, and behind a gap where the reader goes on elsewhere. A
word of weights waits until the stream behind the reader has room. Elements and units of attention take what
has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..parameters import lines_of_rows
from .flow import Attention

ASKED = 1, 2, 2, 8
"""Lines that a port on banks has on their way where it begins a run, while each wait lasts."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What a channel gives its reader.

    Attributes:
        word: cycles from a word to the next one.
        line: words of a line of the memory, which may be a part of one.
        latency: cycles from asking for a line to having it.
        window: lines that are on their way.
        lost: lines that it has asked for behind the last one of a run.
    """

    word: float
    line: float
    latency: float
    window: int
    lost: int = 0

    @property
    def gap(self) -> float:
        """Cycles that it loses where it goes on elsewhere.

        With ``lost`` lines, a port asks for 1, 2, 2 and 8 lines at once there before it has found a run;
        without, the memory has found it with the first line.
        """
        time, asked = self.line * self.word, ASKED if self.lost else ASKED[:1]
        return self.lost * time + sum(max(0.0, self.latency - lines * time) for lines in asked)


@dataclass(slots=True)
class Ordered:
    """The jobs of a step, on channels that read weights, and keys and values in between, in order.

    Attributes:
        jobs: the pause in front of each, or None for the attention, and its words.
        depth: words of weights that may wait for an element.
        attention: of a layer; its keys are rows of lines, and not positions.
        each: cycles in which a unit takes a row.
        fronts: lines of tables in front of the words of each job.
        waiting: keys, and values, of a channel that may wait for their unit.
        page: lines of a head that there is room for.
        block: positions behind a line of their steps, whose keys and values are one line; 0 for two.
        pauses: cycles in which the elements wait for activations.
        starved: cycles in which they wait for weights.
        now: when the elements have taken the last word.
    """

    reader: Reader
    jobs: Sequence[tuple[float | None, float]]
    depth: int
    attention: Attention
    each: int = 1
    fronts: Sequence[int] = ()
    waiting: int = 1 << 30
    page: int = 1 << 30
    block: int = 0
    pauses: float = 0.0
    starved: float = 0.0
    now: float = 0.0
    _read: float = 0.0
    _came: float = 0.0
    _taken: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Go through all jobs."""
        self._read = self._came = self.reader.latency
        mixed = 0.0
        following = [pause is None for pause, _ in self.jobs[1:]] + [False]
        fronts = self.fronts or [0] * len(self.jobs)
        for (pause, words), attends, front in zip(self.jobs, following, fronts, strict=True):
            self._read += front * self.reader.word
            began = self.now
            if pause is None:
                self.now = mixed + self.attention.ended
            else:
                self.now += pause
            self.pauses += self.now - began
            began = self.now
            asked = (
                self._work(words - self.attention.values if attends else 0) + self.attention.dealt
            )
            self._work(self.attention.values if attends else words)
            given = self.now + self.attention.dealt
            self.starved += self.now - began - words
            if attends:
                mixed = self._attend(mixed, asked, given)

    def _work(self, words: float) -> float:
        """Take so many words of weights; the time behind the last one."""
        word, depth, taken = self.reader.word, self.depth, self._taken
        window = round(self.reader.window * self.reader.line)
        for _ in range(round(words)):
            number = len(taken)
            self._read += word
            if number >= depth + window:
                self._read = max(self._read, taken[number - depth - window])
            self._came = max(self._came + 1, self._read)
            if number >= depth:
                self._came = max(self._came, taken[number - depth])
            self.now = max(self.now + 1, self._came)
            taken.append(self.now)
        return self.now

    def _attend(self, before: float, asked: float, given: float) -> float:
        """When the last value of a layer is weighted.

        Old keys and values come behind what was written of the layer before, and wait for their unit.

        Args:
            before: when the last value of that layer was.
            asked, given: when the new keys and values are at the units.
        """
        about, old, each = self.attention, self.attention.old, self.each
        self._came = max(self._came, before)
        if not old:
            self._read = self._came
        scoring, mixing = asked, given
        scored: list[float] = []
        weighted: list[float] = []
        run = lines_of_rows(old, self.block)
        for head in range(about.heads):
            values: list[float] = []
            # A head whose page is full is one run with the next one.
            if old and (head == 0 or run < self.page):
                self._read = max(self._read, self._came) + self.reader.gap
            for row in range(old):
                key, value = self._row(row, scored, weighted, len(scored) - self.waiting)
                scoring = max(scoring + each, key + each - 1)
                scored.append(scoring)
                values.append(value)
            scoring += max(0, about.turns - old * each)
            mixing = max(mixing + (about.drained if head else 0), scoring + about.scored)
            for value in values:
                mixing = max(mixing + each, value + each - 1)
                weighted.append(mixing)
            mixing += max(0, about.turns - old * each)
        if old:
            self._read = max(self._read, self._came) + self.reader.gap
        return mixing

    def _row(
        self, row: int, scored: Sequence[float], weighted: Sequence[float], freed: int
    ) -> tuple[float, float]:
        """When a channel's key of a row is there, and its value.

        Args:
            scored, weighted: when keys, and values, of the layer's rows left the stream that they wait in.
            freed: the row that has to have left it.
        """
        key, value = (scored[freed], weighted[freed]) if freed >= 0 else (0.0, 0.0)
        if self.block:
            came = self._line(2 if row % self.block == 0 else 1, max(key, value))
            return came, came
        return self._line(1, key), self._line(1, value)

    def _line(self, lines: int, free: float) -> float:
        """When the last of some lines is there, for which there is room from a time on."""
        word = self.reader.word
        self._read += lines * word
        self._came = max(self._came + 1, self._read, free)
        self._read = max(self._read, self._came - self.reader.window * self.reader.line * word)
        return self._came
