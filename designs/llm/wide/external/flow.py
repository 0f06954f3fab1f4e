"""What ports bring from channels that they share, as flows of words, and the attention that takes them.

A channel serves lines in the order in which they were asked for. So of ports that all want more, each has a
share as large as the number of its lines on their way. A port whose stream is full asks for what is taken
out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

EVER = float("inf")
LEAST = 1e-6
LONG = 1e5


@dataclass(slots=True)
class Port:
    """Ports that are alike, of which each fills a stream.

    Attributes:
        count: of such ports.
        lines: of the memory, in a word.
        window: lines of a port that are on their way.
        depth: words that the stream behind it holds.
        left: words that are still to come.
        ahead: words in the stream.
    """

    count: int
    lines: float
    window: float
    depth: int
    left: float = 0.0
    ahead: float = 0.0

    def most(self, drain: float, latency: float) -> float:
        """The words that it asks for in a cycle, while so many are taken."""
        if self.left <= LEAST:
            return 0.0
        most = min(1.0, self.window / self.lines / max(latency, LEAST))
        return most if self.ahead < self.depth - LEAST else min(most, drain)


@dataclass(slots=True)
class Flow:
    """Ports on channels that move so many lines a cycle together.

    Attributes:
        latency: cycles from asking for a line to having it, where nobody else asks.
    """

    lines: float
    latency: float
    ports: Sequence[Port]
    now: float = 0.0

    def rates(self, drains: Sequence[float]) -> list[float]:
        """Words a cycle that each port brings, while so many are taken from it."""
        wanted = [p.most(d, self.latency) for p, d in zip(self.ports, drains, strict=True)]
        rates, free = [0.0] * len(wanted), self.lines
        hungry = [n for n, want in enumerate(wanted) if want > 0]
        while hungry:
            windows = sum(self.ports[n].count * self.ports[n].window for n in hungry)
            share = free / windows
            given = {n: share * self.ports[n].window / self.ports[n].lines for n in hungry}
            content = [n for n in hungry if wanted[n] <= given[n]]
            for n in content or hungry:
                rates[n] = min(wanted[n], given[n])
                free -= rates[n] * self.ports[n].count * self.ports[n].lines
            hungry = [n for n in hungry if n not in content] if content else []
        return rates

    def advance(self, drains: Sequence[float], most: Sequence[float], until: float) -> list[float]:
        """Go on to a time, or to where a port has given so many words, or a stream is full or empty.

        Args:
            drains: words a cycle that are taken from each port, as far as they are there.
            most: words of each port.

        Returns:
            The words of each that were taken.
        """
        rates = self.rates(drains)
        taken = [
            drain if port.ahead > LEAST else min(drain, rate)
            for port, drain, rate in zip(self.ports, drains, rates, strict=True)
        ]
        step = until - self.now
        for port, rate, take, end in zip(self.ports, rates, taken, most, strict=True):
            grows = rate - take
            room = port.depth - port.ahead if grows > 0 else port.ahead
            if abs(grows) > LEAST and room > LEAST:
                step = min(step, room / abs(grows))
            if rate > 0:
                step = min(step, port.left / rate)
            if take > 0:
                step = min(step, end / take)
        step = max(step, LEAST)
        for port, rate, take in zip(self.ports, rates, taken, strict=True):
            port.ahead = min(max(0.0, port.ahead + (rate - take) * step), float(port.depth))
            port.left = max(0.0, port.left - rate * step)
        self.now += step
        return [take * step for take in taken]


@dataclass(slots=True)
class Attention:
    """The attention of a layer: units that take old keys, and then values.

    Attributes:
        heads: of keys and values, of a unit.
        old: keys of a head that come from memory.
        turns: cycles in which a unit takes a head.
        dealt: from the elements' last product of k, or v, to a unit.
        scored: from a key to its weight.
        drained: cycles in which a unit gives the sums of a head, and takes no values.
        ended: from the last value to the last activation of the projection.
        values: words of a channel in the job of q, k and v behind those of k.
    """

    heads: int
    old: int
    turns: int
    dealt: float
    scored: float
    ended: float
    values: float
    drained: int = 0
    asked: float = EVER
    given: float = EVER
    keys_taken: float = 0.0
    values_taken: float = 0.0
    peaks: list[float] = field(default_factory=list)

    @property
    def words(self) -> float:
        """Of a unit's keys, and of its values."""
        return float(self.heads * self.old)

    @property
    def is_mixed(self) -> bool:
        """Whether all values have been taken."""
        return self.values_taken >= self.words - LEAST

    def begin(self) -> None:
        """A new layer."""
        self.asked = self.given = EVER
        self.keys_taken = self.values_taken = 0.0
        self.peaks = []

    def wants(self, now: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Keys a cycle, and until the end of a head; and values a cycle, and until a peak is missing."""
        rate, drains = self.old / self.turns, self.drained * (1 - 1 / self.heads)
        head = (len(self.peaks) + 1) * self.old - self.keys_taken
        scores = now >= self.asked - LEAST and len(self.peaks) < self.heads
        allowed = sum(time <= now + LEAST for time in self.peaks) * self.old - self.values_taken
        mixes = now >= self.given - LEAST and allowed > LEAST
        return (rate * scores, head), (self.old / (self.turns + drains) * mixes, allowed)

    def take(self, keys: float, values: float, now: float) -> None:
        """So many keys and values were taken."""
        self.keys_taken += keys
        self.values_taken += values
        if self.keys_taken >= (len(self.peaks) + 1) * self.old - LEAST:
            self.peaks.append(now + self.scored)


@dataclass(slots=True)
class Step:
    """The jobs of a step on ports of weights, keys and values, in this order.

    Attributes:
        jobs: the pause in front of each, or None for the attention, and its words.
        pauses: cycles in which the elements wait for activations.
        starved: cycles in which they wait for weights.
    """

    flow: Flow
    attention: Attention
    jobs: Sequence[tuple[float | None, float]]
    pauses: float = 0.0
    starved: float = 0.0
    _comes: list[tuple[float, Port]] = field(default_factory=list)

    def run(self) -> float:
        """The cycles until the elements have done all jobs."""
        weights, keys, values = self.flow.ports
        weights.left = sum(words for _, words in self.jobs)
        keys.left = values.left = self.attention.words
        layers = sum(pause is None for pause, _ in self.jobs)
        after = [pause is None for pause, _ in self.jobs[1:]] + [False]
        for (pause, words), attends in zip(self.jobs, after, strict=True):
            self._wait(pause)
            if attends:
                layers -= 1
                self._attend(words, layers > 0)
            else:
                self._work(words)
        return self.flow.now

    def _wait(self, pause: float | None) -> None:
        began = self.flow.now
        if pause is None:
            while not self.attention.is_mixed:
                self._go(EVER)
            pause = self.attention.ended
        end = self.flow.now + pause
        while self.flow.now < end - LEAST:
            self._go(end)
        self.pauses += self.flow.now - began

    def _attend(self, words: float, more: bool) -> None:
        """The job of q, k and v; old keys of the next layer are read behind the new ones of this one."""
        about, (_, keys, values) = self.attention, self.flow.ports
        about.begin()
        self._work(words - about.values)
        about.asked = self.flow.now + about.dealt
        self._work(about.values)
        about.given = self.flow.now + about.dealt
        if more:
            self._comes = [(about.asked, keys), (about.given, values)]

    def _work(self, words: float) -> None:
        left, began = words, self.flow.now
        while left > LEAST:
            left -= self._go(EVER, left)
        self.starved += self.flow.now - began - words

    def _go(self, until: float, words: float = 0.0) -> float:
        """Up to the next event; the words of a channel that the elements took, of so many."""
        flow, about = self.flow, self.attention
        for time, port in self._comes:
            if time <= flow.now + LEAST:
                port.left += about.words
        self._comes = [come for come in self._comes if come[0] > flow.now + LEAST]
        wanted = ((float(words > 0), words), *about.wants(flow.now))
        times = [until, about.asked, about.given, *about.peaks, *(time for time, _ in self._comes)]
        end = min(time for time in (*times, flow.now + LONG) if time > flow.now + LEAST)
        drains, most = zip(*wanted, strict=True)
        taken = flow.advance(drains, most, end)
        about.take(taken[1], taken[2], flow.now)
        return taken[0]
