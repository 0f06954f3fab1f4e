"""Stands between the steps of the RTL compiler and replays what it schedules."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from allo.backend.rtl import compiler
from allo.backend.rtl.graph.nodes import Array, Body, Lin
from allo.backend.rtl.graph.regions import Function
from allo.backend.rtl.read.accesses import Memory

from . import ReplayError
from .reading import Notes, Said, Source, read
from .regions import Replay
from .values import Fn, Units

SEEDS = 4
"""Runs of a function, each on values of its own."""


class _Thread(threading.local):
    """What one thread compiles."""

    def __init__(self) -> None:
        self.notes = Notes()
        self.source: tuple[Function, Source] | None = None


class Watcher:
    """Watches the compiler's steps while it is in place.

    Attributes:
        functions, bodies: how many functions were replayed, and how often bodies were run both ways.
        unjudged: why some runs of a function ended before its end.
        alarms: what was seen of schedules that do something else than their sources say.
    """

    def __init__(self) -> None:
        self._thread = _Thread()
        self._known: dict[int, tuple[Any, Fn]] = {}
        self.functions = self.bodies = 0
        self.unjudged: list[str] = []
        self.alarms: list[str] = []

    @contextmanager
    def watching(self) -> Iterator[Watcher]:
        """Stand between the compiler's steps."""
        with ExitStack() as stack:
            for name in ("load", "store", "load_bank", "store_all_banks"):
                method = _method(functools.partial(self._access, name, getattr(Memory, name)))
                stack.enter_context(mock.patch.object(Memory, name, method))
            for name, step in (("simplify", self._simplify), ("Emitter", self._emitter)):
                done = functools.partial(step, getattr(compiler, name))
                stack.enter_context(mock.patch.object(compiler, name, done))
            yield self

    def _access(
        self, name: str, done: Callable[..., Any], memory: Memory, array: Array, *rest: Any
    ) -> Any:
        """Note what the source says of an access; loads that a store makes for itself are none of it."""
        notes, builder = self._thread.notes, memory._b
        body, predicate = builder.body, builder.predicate
        notes.deep += 1
        try:
            made = done(memory, array, *rest)
        finally:
            notes.deep -= 1
        if notes.deep:
            return made
        match name:
            case "load":
                notes.add(body, Said("load", array, rest[0], predicate, made))
            case "store":
                notes.add(body, Said("store", array, rest[0], predicate, rest[1]))
            case "load_bank":
                index = Lin(rest[0]), rest[1]
                notes.add(body, Said("load", array, index, None, made, by_bank=True))
            case _:
                for bank, value in enumerate(rest[1]):
                    index = Lin(bank), rest[0]
                    notes.add(body, Said("store", array, index, None, value, by_bank=True))
        return made

    def _simplify(
        self, done: Callable[..., Any], function: Function, static: Body, *rest: Any
    ) -> Any:
        """Keep a function as it was read, before its graph is changed."""
        thread = self._thread
        source = read(function, static, thread.notes.said, Units(self._known))
        thread.notes, thread.source = Notes(), (function, source)
        return done(function, static, *rest)

    def _emitter(
        self, done: Callable[..., Any], function: Function, static: Body, *rest: Any, **more: Any
    ) -> Any:
        """Replay a function that is scheduled, before its text is written."""
        found, self._thread.source = self._thread.source, None
        if found is not None and found[0] is function:
            self.replay(function, static, found[1])
        return done(function, static, *rest, **more)

    def replay(self, function: Function, static: Body, source: Source) -> None:
        """Run a function on several sets of values, until one shows a difference."""
        self.functions += 1
        for seed in range(SEEDS):
            replay = Replay(function, static, source, Units(self._known), seed)
            try:
                replay.run()
            except ReplayError as error:
                self.alarms.append(str(error))
                return
            finally:
                self.bodies += replay.bodies
            if replay.unjudged:
                self.unjudged.append(replay.unjudged)


def _method(watched: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Memory, *given: Any, **named: Any) -> Any:
        return watched(self, *given, **named)

    return method
