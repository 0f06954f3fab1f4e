"""Words of memories that processes load and store at once: what a load finds depends on its cycle.

The processes are followed with words that are guessed, those that they have found there last, and the engine
keeps the cycle of each access. In the order of these cycles it is known what each load finds up to the first
wrong guess, and what that one finds. So the next run, with the words that were found, is right for longer,
until all are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

from ..native import Longs

GUESSES = 64
"""Words that a process may guess at first before it is followed no further."""
ROUNDS = 400
"""Runs until all words are known."""
MOST_GUESSES = 1 << 14
"""Words that a process may guess at last."""

Key = tuple[int, int]
"""A process, and the number of an access of it."""


class Enough(Exception):
    """A process has guessed as many words as it may."""


@dataclass(frozen=True, slots=True)
class Event:
    """An access: the memory, the place in it, the word that it finds or leaves, its number in its process."""

    memory: int
    place: int
    word: int
    order: int
    stores: bool


@dataclass(slots=True)
class Races:
    """The accesses of one run.

    Attributes:
        known: what loads find, as far as it is known.
        guesses: how many more words each process may guess.
        clients: the accesses, by the clients whose cycles the engine keeps.
        cut: whether a process was not followed to its end.
    """

    known: dict[Key, list[int]] = field(default_factory=dict)
    guesses: int = GUESSES
    clients: dict[int, Key] = field(default_factory=dict)
    cut: bool = False
    _events: dict[Key, list[Event]] = field(default_factory=lambda: defaultdict(list))
    _first: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    _counts: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _last: dict[tuple[int, int, int], int] = field(default_factory=dict)
    _guessed: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def load(self, key: Key, memory: list[int], place: int) -> int:
        """What a load finds, or may find.

        Raises:
            Enough: the process has guessed as much as it may.
        """
        known, number = self.known.get(key, ()), len(self._events[key])
        if number < len(known):
            word = known[number]
        else:
            self._guessed[key[0]] += 1
            if self._guessed[key[0]] > self.guesses:
                self.cut = True
                raise Enough
            word = memory[place] if place < len(memory) else 0
            word = self._last.get((key[0], id(memory), place), word)
        self._note(key, memory, place, word, stores=False)
        return word

    def store(self, key: Key, memory: list[int], place: int, word: int) -> None:
        """A process stores a word."""
        self._note(key, memory, place, word, stores=True)
        if place < len(memory):
            memory[place] = word

    def _note(self, key: Key, memory: list[int], place: int, word: int, *, stores: bool) -> None:
        self._first.setdefault(id(memory), (memory, list(memory)))
        self._last[key[0], id(memory), place] = word
        order = self._counts[key[0]] = self._counts[key[0]] + 1
        self._events[key].append(Event(id(memory), place, word, order, stores))

    def found(self, served: Longs) -> tuple[dict[Key, list[int]], bool]:
        """What each load finds in the order of their cycles, and whether that is what it was said to find.

        A word that is stored is there in the next cycle, or passes to a later load of its process.
        """
        memories = {number: list(first) for number, (_, first) in self._first.items()}
        found: dict[Key, list[int]] = defaultdict(list)
        right = True
        late = self._late_stores(served)
        for time, key, event in sorted(self._in_time(served), key=lambda e: (e[0], e[2].stores)):
            memory = memories[event.memory]
            if event.stores:
                if event.place < len(memory):
                    memory[event.place] = event.word
                continue
            word = memory[event.place] if event.place < len(memory) else 0
            for at, store in late.get((key[0], event.memory, event.place), ()):
                if store.order < event.order and at >= time:
                    word = store.word
            right = right and word == event.word
            found[key].append(word)
        return dict(found), right

    def _in_time(self, served: Longs) -> Iterator[tuple[int, Key, Event]]:
        places: dict[Key, int] = defaultdict(int)
        for client, time in served.tolist():
            key = self.clients[client]
            event = self._events[key][places[key]]
            places[key] += 1
            yield time, key, event

    def _late_stores(self, served: Longs) -> dict[tuple[int, int, int], list[tuple[float, Event]]]:
        """Of each process and word the stores to it, in their order, each with its cycle."""
        times: dict[Key, list[int]] = defaultdict(list)
        for client, time in served.tolist():
            times[self.clients[client]].append(time)
        stores: dict[tuple[int, int, int], list[tuple[float, Event]]] = defaultdict(list)
        for key, events in self._events.items():
            own = times.get(key, [])
            for number, event in enumerate(events):
                if event.stores:
                    at = own[number] if number < len(own) else inf
                    stores[key[0], event.memory, event.place].append((at, event))
        for rows in stores.values():
            rows.sort(key=lambda row: row[1].order)
        return dict(stores)
