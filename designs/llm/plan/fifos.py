"""What a FIFO takes: a region of a producer, a stream and a consumer, estimated at many sizes."""

from __future__ import annotations

from typing import Any

import allo.dataflow as df
from allo.ir.types import Stream, UInt

WORDS = 8192


def make_fifo(width: int, depth: int) -> Any:
    """A stream of ``depth`` words of ``width`` bits between two processes, ready to be estimated."""
    BITS, DEPTH = width, depth

    @df.region()
    def probe(given: UInt(BITS)[WORDS], taken: UInt(BITS)[WORDS]):
        words: Stream[UInt(BITS), DEPTH]

        @df.kernel(mapping=[1], args=[given])
        def producer(memory: UInt(BITS)[WORDS]):
            for i in range(WORDS):
                words.put(memory[i])

        @df.kernel(mapping=[1], args=[taken])
        def consumer(memory: UInt(BITS)[WORDS]):
            for i in range(WORDS):
                memory[i] = words.get()

    return df.customize(probe)
