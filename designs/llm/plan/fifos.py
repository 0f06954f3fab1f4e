"""What a FIFO takes: a region of a producer, a stream and a consumer, estimated at many sizes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import allo.dataflow as df
from allo.errors import DTypeWarning
from allo.ir.types import Stream, UInt

from .fits import KINDS

WORDS, CLOCK_MHZ = 8192, 300
NEAR = 64, 512
"""Widths of the two FIFOs between which others of their depth are, where no block of RAM holds them."""
SHALLOW, DEEP = 64, 512


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


@cache
def fifo(width: int, depth: int) -> Mapping[str, float]:
    """What a FIFO takes, by the estimate of a region that holds one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DTypeWarning)
        report = make_fifo(width, depth).estimate(clock_mhz=CLOCK_MHZ)
    region = next(function for function in report.functions if function.network)
    return {kind: float(region.resources.get(kind, 0)) for kind in KINDS}


@cache
def _between(depth: int) -> tuple[dict[str, float], dict[str, float]]:
    narrow, wide = (dict(fifo(width, depth)) for width in NEAR)
    return narrow, wide


def fifo_near(width: int, depth: int) -> Mapping[str, float]:
    """What a FIFO takes: one of a few words by its width, from two that were estimated.

    A deep one is that of the next power of two, whose blocks of RAM are as many or a few more.
    """
    if depth > SHALLOW:
        return fifo(width, depth if depth <= DEEP else 1 << (depth - 1).bit_length())
    narrow, wide = _between(depth)
    part = (width - NEAR[0]) / (NEAR[1] - NEAR[0])
    return {kind: max(0.0, narrow[kind] + part * (wide[kind] - narrow[kind])) for kind in KINDS}
