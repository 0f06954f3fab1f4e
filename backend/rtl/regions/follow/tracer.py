"""The trace of one process as its generator writes it, and the words that decide while it does."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..native import CALL, DRAIN, END, SETTLE, WAIT, Ints, Longs
from ..refusal import Unforeseen
from ..variants import (
    ADVANCE,
    ASKS,
    GET,
    PIPE,
    STEPS,
    Part,
    Place,
    Shape,
    part_code,
    pipe_code,
    requests_of,
    steps_code,
)
from .races import Races

CHUNK = 1 << 12
"""Iterations after which a process without an end gives others their turn."""
MOST_WORDS, MOST_TURNS = 64, 1 << 12
"""Words of memories that may come again, and iterations whose words are remembered."""
COPIED = 128
"""Records that are copied in the time in which one is followed, or so."""


class Queue(deque[int]):
    """Words of a stream that decide, and the process that puts them (None: the outside)."""

    producer: Any = None


class Budget:
    """How many records and iterations all processes of a design may have; ``None`` for any number."""

    def __init__(self, records: int | None) -> None:
        self.left = records

    def limit(self, most: int) -> None:
        """Have no more than so many, where there is a number."""
        if self.left is not None:
            self.left = min(self.left, most)

    def spend(self, count: int) -> None:
        """Take some of it.

        Raises:
            Unforeseen: it is used up.
        """
        if self.left is None:
            return
        self.left -= count
        if self.left < 0:
            raise Unforeseen("its processes do too much to be followed in a report")


class Clients:
    """The ports of memories that others may ask for, too: a process's numbers of them, for one function."""

    def __init__(self) -> None:
        self.places: dict[Place, int] = {}


class Tracer:
    """Records of one process.

    Attributes:
        full: whether it has gone on for long enough.
        answer: whether what it has asked for last, without waiting, was there.
    """

    def __init__(self, budget: Budget, entity: int, races: Races) -> None:
        self.full = False
        self._entity = entity
        self._races = races
        self.answer = 0
        self._budget = budget
        self._left = CHUNK
        self._runs = 0
        self._records = array("i")
        self._keys: dict[tuple[Any, ...], int] = {}
        self._asked: dict[int, set[int]] = {}
        self._at = 0
        self._last = -100

    @property
    def size(self) -> int:
        """The numbers of records so far."""
        return len(self._records)

    @property
    def kinds(self) -> int:
        """The number of variants so far."""
        return len(self._keys)

    @property
    def numbers(self) -> array[int]:
        """The trace as it is kept; it may move when it grows."""
        return self._records

    def emit(
        self,
        clients: Clients,
        body: tuple[Shape, int | Part],
        holds: int,
        channels: tuple[int, ...],
        times: int,
    ) -> None:
        """A body runs ``times``; ``holds``: the conditions of its operations, as bits."""
        key = (body, holds, channels, clients)
        variant = self._keys.get(key)
        if variant is None:
            variant = self._keys[key] = len(self._keys)
        self._runs += 1
        if not self._runs & 1023:
            self._budget.spend(512)
        self._left -= times
        if self._left <= 0:
            self.full = True
        if variant == self._last and self._records[-1] + times < 1 << 30:
            self._records[-1] += times
            return
        self._add(variant, times)

    def note(
        self, clients: Clients, body: tuple[Shape, int | Part], holds: int, begin: int
    ) -> None:
        """An iteration that waits for no stream begins so many cycles behind the first, and asks."""
        for time, numbers in requests_of(body[0], holds, clients.places).items():
            self._asked.setdefault(begin + time, set()).update(numbers)

    def read(self, clients: Clients, node: int, memory: list[int], place: int) -> int:
        """What a load finds that meets the stores of other processes."""
        key = self._entity, clients.places[-1, node, 0]
        return self._races.load(key, memory, place)

    def write(self, clients: Clients, node: int, memory: list[int], place: int, word: int) -> None:
        """Store a word while other processes use the memory."""
        key = self._entity, clients.places[-1, node, 0]
        self._races.store(key, memory, place, word)

    def flush(self, cycles: int) -> None:
        """Iterations that were noted run; so many cycles later, where all ports are granted at once, others
        follow, while the last ones may still ask."""
        at, self._at = self._at, 0
        for time in sorted(self._asked):
            self.wait(time - at)
            at = time
            key = ("asks", *sorted(self._asked[time]))
            self._add(self._keys.setdefault(key, len(self._keys)), 1)
        self._asked = {}
        self.wait(cycles - at)

    def attempt(self, kind: int, channel: int, at: int) -> None:
        """An iteration that waits for nothing asks a stream so many cycles behind the loop's start.

        Raises:
            Unforeseen: one before it asks later.
        """
        if at < self._at:
            raise Unforeseen("iterations of a pipeline ask streams while earlier ones still do")
        self.wait(at - self._at)
        self._at = at
        self._left -= 1
        self.full = self.full or self._left <= 0
        key = ("try", kind, channel)
        self._add(self._keys.setdefault(key, len(self._keys)), 1)

    def _add(self, code: int, argument: int) -> None:
        self._last = code
        self._records.extend((code, argument))
        if not len(self._records) & 1023:
            self._budget.spend(512)

    def replay(self, times: int, memories: Sequence[list[int]]) -> Iterator[int]:
        """Iterations to follow, until one begins with the words of an earlier one: the others are copied
        (:mod:`.repeats` says of which loops).

        Args:
            times: how many there are. What an iteration does depends on the words of its memories alone.
            memories: those that iterations change; they are left as the last one leaves them.
        """
        known: dict[tuple[tuple[int, ...], ...], int] = {}
        words: list[tuple[tuple[int, ...], ...]] = []
        begins: list[int] = []
        few = sum(map(len, memories)) <= MOST_WORDS
        for turn in range(times):
            if few and turn < MOST_TURNS:
                words.append(tuple(map(tuple, memories)))
                begins.append(len(self._records))
                self._last = -100
                first = known.setdefault(words[-1], turn)
                if first < turn:
                    self._copy(begins[first:], times - turn)
                    last = words[first + (times - turn) % (turn - first)]
                    for memory, held in zip(memories, last, strict=True):
                        memory[:] = held
                    return
            yield turn

    def _copy(self, begins: Sequence[int], times: int) -> None:
        """Repeat the records of iterations; ``begins``: of each, and the end of the last."""
        whole, rest = divmod(times, len(begins) - 1)
        period = self._records[begins[0] :]
        part = self._records[begins[0] : begins[rest]]
        self._budget.spend((len(period) * whole + len(part)) // COPIED)
        self._records += period * whole + part
        self._left -= times
        self.full = self.full or self._left <= 0

    def wait(self, cycles: int) -> None:
        """Some cycles pass."""
        if self._last == WAIT and 0 <= self._records[-1] + cycles < 1 << 30:
            self._records[-1] += cycles
            return
        while cycles >= 1 << 30:
            self._add(WAIT, (1 << 30) - 1)
            cycles -= (1 << 30) - 1
        self._add(WAIT, cycles)

    def drain(self, depth: int) -> None:
        """The pipeline's last iteration ends."""
        self._add(DRAIN, depth)

    def settle(self, channel: int) -> None:
        """The words that wait in a buffer leave it."""
        self._add(SETTLE, channel)

    def call(self, child: int) -> None:
        """A region runs."""
        self._add(CALL, child)

    def end(self, *, again: bool) -> None:
        """The process has ended; ``again``: its next run is the same."""
        self._add(END, int(again))

    def pause(self) -> None:
        """What comes next is not known: the trace goes as far as here, and so does the time."""
        self.flush(max(self._asked, default=-1) + 1)
        self._add(self._keys.setdefault(("pause",), len(self._keys)), 1)

    def stuck(self, channel: int) -> None:
        """It waits for a word that nobody gives."""
        key = ("stuck", channel)
        self._add(self._keys.setdefault(key, len(self._keys)), 1)

    def check(self) -> None:
        """Many iterations have been followed that pass no words."""
        self._budget.spend(1 << 16)

    def cut(self) -> None:
        """The records so far are as they are: what follows makes none of them longer."""
        self._last = -100

    def go_on(self, chunk: int) -> None:
        """Let a process without an end go on."""
        self.full = False
        self._left = chunk
        self.cut()

    def records(self) -> Ints:
        """The trace."""
        return np.array(self._records, np.int32)

    def variants(self) -> tuple[Ints, Longs]:
        """The code of all variants, and where each begins."""
        code: list[int] = []
        starts: list[int] = []
        for what, *rest in self._keys:
            starts.append(len(code))
            if what == "stuck":
                code += [STEPS, 1, GET, *rest]
            elif what == "pause":
                code += [STEPS, 1, ADVANCE, 0]
            elif what == "try":
                code += [STEPS, 1, *rest]
            elif what == "asks":
                code += [ASKS, len(rest), *rest]
            else:
                (shape, kind), (holds, channels, clients) = what, rest
                if isinstance(kind, Part):
                    code += part_code(shape, kind, holds, channels)
                elif kind == PIPE:
                    code += pipe_code(shape, holds, channels, clients.places)
                else:
                    code += steps_code(shape, holds, channels, clients.places)
        return np.array(code, np.int32), np.array(starts, np.int64)


class Called(Protocol):
    """What a process calls."""

    def called(
        self,
        tracer: Tracer,
        arrays: Sequence[Any],
        queues: Sequence[Queue],
        channels: Sequence[int],
        scalars: Sequence[int],
    ) -> Iterator[Any]:
        """The generator of a call."""
        ...


class Hand:
    """What a generator of one function in a process writes with."""

    __slots__ = (
        "attempt",
        "callees",
        "check",
        "drain",
        "emit",
        "flush",
        "note",
        "others",
        "read",
        "replay",
        "settle",
        "tracer",
        "wait",
        "write",
    )

    def __init__(
        self,
        tracer: Tracer,
        callees: Mapping[str, Called],
        others: Mapping[tuple[str, tuple[int, ...]], Called],
        clients: Clients,
    ) -> None:
        self.tracer = tracer
        self.callees = callees
        self.others = others
        self.emit, self.note = partial(tracer.emit, clients), partial(tracer.note, clients)
        self.wait, self.drain, self.flush = tracer.wait, tracer.drain, tracer.flush
        self.attempt = tracer.attempt
        self.read, self.write = partial(tracer.read, clients), partial(tracer.write, clients)
        self.settle, self.check, self.replay = tracer.settle, tracer.check, tracer.replay

    @property
    def full(self) -> bool:
        """Whether the process has gone on for long enough."""
        return self.tracer.full

    @property
    def answer(self) -> int:
        """Whether what the process has asked for last, without waiting, was there."""
        return self.tracer.answer

    def call(
        self,
        callee: str,
        memories: dict[int, Any],
        arrays: Sequence[int],
        queues: Sequence[Queue],
        channels: Sequence[int],
        streams: tuple[int, ...],
        scalars: Sequence[int],
    ) -> Iterator[Any]:
        """Follow a call; returns the scalars that it gives."""
        given = [memories.get(number) for number in arrays]
        inner = self.others.get((callee, streams)) or self.callees[callee]
        passed = [queues[number] for number in streams]
        joined = [channels[number] for number in streams]
        return inner.called(self.tracer, given, passed, joined, scalars)
