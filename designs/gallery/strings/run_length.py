# ruff: noqa: B007  (loops have names for the schedule)
"""Run-length encoder: equal values in a row become one value and a count, a value a cycle.

Hardware: three processes. One reads the values from memory, one compares each with the last and counts,
and one writes the runs; FIFOs join them. A run leaves the encoder when it ends; one of length zero tells
the writer that there are no more.

Interval: nothing holds up the reader and the encoder; the put stands under a condition, and the pipeline
keeps a place for it in any case. The writer cannot know how many runs will come, so it is a `while`, which
is no pipeline; but its body takes a single cycle.

Source: A. H. Robinson and C. Cherry, Results of a prototype television bandwidth compression scheme,
Proceedings of the IEEE, 1967.

Used in: fax, JPEG, sparse feature maps
"""

from __future__ import annotations

import numpy as np

import allo.dataflow as df
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, int32, uint8, uint16

N = 256
Run = UInt(24)


@df.region()
def run_length(X: uint8[N], VALUES: uint8[N], LENGTHS: uint16[N]):
    """Write the value and the length of each run of ``X``, one after another from element 0.

    What lies behind the last run in ``VALUES`` and ``LENGTHS`` stays as it was.
    """
    source: Stream[uint8, 4]
    runs: Stream[Run, 4]

    @df.kernel(mapping=[1], args=[X])
    def read(x: uint8[N]):
        for i in range(N):
            source.put(x[i])

    @df.kernel(mapping=[1])
    def encode():
        value: uint8 = 0
        length: uint16 = 0
        for n in range(N):
            coming: uint8 = source.get()
            run: Run = 0
            run[0:16] = length
            run[16:24] = value
            if length > 0 and coming != value:
                runs.put(run)
                length = 0
            value = coming
            length += 1
        last: Run = 0
        last[0:16] = length
        last[16:24] = value
        runs.put(last)
        end: Run = 0
        runs.put(end)

    @df.kernel(mapping=[1], args=[VALUES, LENGTHS])
    def write(values: uint8[N], lengths: uint16[N]):
        k: int32 = 0
        got: Run = runs.get()
        while got[0:16] != 0:
            lengths[k] = got[0:16]
            values[k] = got[16:24]
            k += 1
            got = runs.get()


def schedule() -> Schedule:
    """A value a cycle."""
    s = df.customize(run_length)
    for loop in ("read_0:i", "encode_0:n"):
        s.pipeline(loop)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Runs of random lengths, of few values."""
    x = np.repeat(rng.integers(0, 4, N, np.uint8), rng.integers(1, 9, N))[:N]
    return x, np.zeros(N, np.uint8), np.zeros(N, np.uint16)


def reference(x: np.ndarray, values: np.ndarray, lengths: np.ndarray) -> None:
    """The places where a value differs from the one before."""
    starts = np.flatnonzero(np.diff(x, prepend=256))
    values[: len(starts)] = x[starts]
    lengths[: len(starts)] = np.diff(starts, append=N)
