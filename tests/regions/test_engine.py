"""How much is done to foretell a region: events, and iterations that are followed."""

from __future__ import annotations

from typing import Any

import pytest

import allo
import allo.dataflow as df
from allo.backend.rtl.regions.follow import tracer
from allo.ir.types import Stream, int8, int32

from .programs import hardware, words


@df.region()
def uneven[M: int32](A: int32[12], B: int32[12]):
    """A pipeline whose words come late to a process that then takes one in each cycle."""
    s: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[12]):
        for i in range(M):
            s.put(a[i % 12] * a[(i + 1) % 12] + i)

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[12]):
        late: int32 = 0
        for j in range(12):
            late += b[j]
        for i in range(M):
            b[i % 12] = late * s.get()


def events(count: int) -> tuple[int, int]:
    """The cycles of a run that passes so many words, and the events that it takes."""
    s = df.customize(uneven, instantiate=[count])
    s.pipeline("source_0:i")
    s.pipeline("sink_0:i")
    module = hardware(s)
    found = module.predict()
    module(words(), words())
    assert module.cycles == found.cycles
    return found.cycles, found.model.build.engine.events


def test_events_grow_as_words_do():
    """Were each word to leave an event behind, four times the words would be sixteen times the events."""
    (cycles, few), (more, many) = events(60), events(240)
    assert 2 < more / cycles < 4
    assert many < 4.5 * few


@df.region()
def turns(A: int32[12], B: int32[12]):
    """A state of three values says which words pass, 66 and 37 of them, and one of two counters does."""
    s: Stream[int32, 2]
    t: Stream[int32, 40]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[12]):
        phase: int8 = 1
        for i, j in allo.grid(50, 2):
            if phase == 2 or j == 1:
                s.put(a[j])
            if phase == 0:
                t.put(a[j])
            phase = 0 if phase == 2 else phase + 1
        for k in range(4):
            if phase == 2:
                t.put(a[k])

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[12]):
        for i in range(33):
            b[0] = s.get()
            b[1] = t.get()
            b[2] = s.get()
        for k in range(4):
            b[3] = t.get()


def turned() -> Any:
    """The hardware of :func:`turns`."""
    s = df.customize(turns)
    s.pipeline("source_0:j")
    return hardware(s)


def test_iterations_that_come_again_are_copied(monkeypatch: pytest.MonkeyPatch):
    """The words that pass and the state that is left are those of following every iteration."""
    followed: list[int] = []
    emit = tracer.Tracer.emit

    def counted(*given: Any) -> None:
        followed.append(1)
        emit(*given)

    module = turned()
    monkeypatch.setattr(tracer.Tracer, "emit", counted)
    copied, few = module.predict(), len(followed)
    monkeypatch.setattr(tracer, "MOST_WORDS", -1)
    followed.clear()
    whole = module.predict()
    assert few < 20 < 100 < len(followed)
    assert copied.fifos == whole.fifos and copied.cycles == whole.cycles
    module(words(), words())
    assert module.cycles == copied.cycles
