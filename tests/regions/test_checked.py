"""Regions whose subscripts are checked take the cycles that are foretold, as long as none fails."""

from __future__ import annotations

import numpy as np
import pytest

import allo.dataflow as df
from allo.errors import BoundsError
from allo.ir.types import Stream, int32

from .programs import N, foretold, hardware, measured, words


@df.region()
def scattered(A: int32[N], B: int32[N]):
    """Words say where the sink puts what."""
    s: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def source(a: int32[N]):
        for i in range(N):
            s.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def sink(b: int32[N]):
        for j in range(N):
            x: int32 = s.get()
            b[x] = j


@pytest.mark.parametrize("pipelined", [(), ("source_0:i", "sink_0:j")])
def test_checked_subscripts(pipelined: tuple[str, ...]):
    s = df.customize(scattered)
    for loop in pipelined:
        s.pipeline(loop)
    module = hardware(s, check_bounds=True)
    given, b = np.arange(N, dtype=np.int32)[::-1].copy(), words()
    told = foretold(module)
    assert told == measured(module, given, b) == module.report.cycles
    assert np.array_equal(b[given], np.arange(N))
    given[N // 2] = N
    with pytest.raises(BoundsError):
        measured(module, given, words())
    assert foretold(module) == told
