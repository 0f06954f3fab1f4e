"""The engine of regions by itself: how much happens in it."""

from __future__ import annotations

import allo.dataflow as df
from allo.ir.types import Stream, int32

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
