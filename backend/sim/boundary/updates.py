"""How long elements take that are read, changed and stored again by requests, wherever data say.

A load waits until each earlier store of the same element is answered, and those behind it wait with it. So
an array of few elements takes the way to memory and back for most of its updates, a large one hardly ever.
Both are counted by requests: elements drawn at random, the engine's rules, and the channel's model.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Sequence

import numpy as np

from allo.backend.rtl.interfaces.board import Buffered, Master

from ..dram.channel import Requests
from .traffic import DRAM, MemoryChannel, device_of

TRIED = 4096
"""Updates that are followed; more take as long each."""
LONGEST = 40_000
"""Cycles after which no more of them are."""
OUT, BACK, FREE = 2, 5, 3
"""Cycles of the design: from a load's request to the channel, from its answer to the store there, and from
the answer of the store to a load that waited for it. Ten together without a memory's own."""


def update_cycles(
    array: Buffered,
    master: Master,
    route: Sequence[MemoryChannel],
    depth: int,
    data: str,
) -> float:
    """Cycles between two updates of elements.

    Args:
        depth: stages of the loop that computes what is stored.
        data: whether elements lie anywhere, ``"random"``; so, but never twice, ``"apart"``; or are all the
            ``"same"``.
    """
    elements = 1 if data == "same" else array.count
    channel, cell = route[0] if route else None, array.cell // 8
    many, computing = master.outstanding, max(0, depth - 1)
    return _followed(elements, cell, many, computing, channel, waits=data != "apart")


@functools.lru_cache(maxsize=256)
def _followed(
    elements: int,
    cell: int,
    many: int,
    computing: int,
    channel: MemoryChannel | None,
    *,
    waits: bool,
) -> float:
    places = np.random.default_rng(0).integers(0, elements, TRIED).tolist()
    memory = _Memory(channel, cell)
    reads: deque[tuple[int, int]] = deque()  # update and ticket, in the order of requests
    writes: deque[tuple[int, int]] = deque()
    stores: deque[tuple[int, int]] = (
        deque()
    )  # update, and the cycle in which its store is at the channel
    asked: deque[tuple[int, int]] = deque()  # the same of its load
    under_way: dict[int, int] = {}  # how many updates of an element are not over
    freed: deque[tuple[int, int]] = deque()
    sent = over = cycle = 0
    while over < TRIED and (cycle < LONGEST or not over):
        while freed and freed[0][0] <= cycle:
            place = freed.popleft()[1]
            under_way[place] -= 1
            over += 1
        met = sent < TRIED and waits and under_way.get(places[sent])
        if sent < TRIED and sent - over < many and not met:
            under_way[places[sent]] = under_way.get(places[sent], 0) + 1
            asked.append((sent, cycle + OUT))
            sent += 1
        if asked and asked[0][1] <= cycle:
            update = asked.popleft()[0]
            reads.append((update, memory.ask(places[update], cycle, writes=False)))
        if reads and memory.is_over(reads[0][1], cycle):
            stores.append((reads.popleft()[0], cycle + BACK + computing))
        if stores and stores[0][1] <= cycle:
            update = stores.popleft()[0]
            writes.append((update, memory.ask(places[update], cycle, writes=True)))
        if writes and memory.is_over(writes[0][1], cycle):
            freed.append((cycle + FREE, places[writes.popleft()[0]]))
        cycle += 1
    return cycle / over


class _Memory:
    """A channel that single elements are asked of; without one, all are there at once."""

    def __init__(self, channel: MemoryChannel | None, cell: int) -> None:
        self._cell, self._latency = cell, channel.latency if channel else 0
        self._requests: Requests | None = None
        if channel is not None and channel.timing == DRAM and channel.clock_mhz is not None:
            self._requests = Requests(device_of(channel), channel.clock_mhz)

    def ask(self, place: int, cycle: int, *, writes: bool) -> int:
        """A ticket: for an ideal channel the cycle in which the request is over."""
        if self._requests is None:
            return cycle + self._latency
        return self._requests.ask(place * self._cell, self._cell, cycle, writes=writes)

    def is_over(self, ticket: int, cycle: int) -> bool:
        """Whether it is by then."""
        if self._requests is None:
            return ticket <= cycle
        return self._requests.is_over(ticket, cycle + 1)  # the model of the bus looks a cycle ahead


__all__ = ["update_cycles"]
