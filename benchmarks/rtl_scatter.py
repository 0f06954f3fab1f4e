"""Random stores of 4 bytes to HBM, and a histogram there, beside the limits of the memory model.

scripts/bench rtl_scatter

`B[at[i]] = v[i]` and `B[at[i]] += v[i]` for 16,384 random elements of an array of 64 MB, each array on a
channel of HBM2 of its own behind an AXI4 master, with banks, rows and refresh (`timing="dram"`). The design
asks for single elements, with 64 requests under way, and with one for comparison. The limit is what the model
of one channel answers by itself to the same addresses, with as many under way: writes, or for the histogram a
read and a write of each. Cycles are of the whole run, at the clock that the report estimates; every element
is compared with NumPy's.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import allo
from allo.backend.sim.dram.channel import DramChannel
from allo.backend.sim.dram.devices import HBM2
from allo.ir.types import int32
from benchmarks.external_runs import CLOCK, COUNT, ELEMENTS, on_channels, request_rows
from benchmarks.harness import Row, command_line, finish

ARRAYS = ("at", "v", "B")


def limit(places: np.ndarray, outstanding: int, *, updates: bool) -> float:
    """Million elements a second that the model of a channel takes by itself."""
    burst = HBM2.burst_bytes
    addresses = places.astype(np.int64) * 4 // burst * burst
    writes = np.ones(len(places), np.uint8)
    if updates:
        addresses = np.repeat(addresses, 2)
        writes = np.tile([0, 1], len(places)).astype(np.uint8)
        outstanding *= 2
    ends = DramChannel(HBM2).replay(addresses, writes=writes, outstanding=outstanding)
    return float(len(places) / (ends.max() / HBM2.mhz))


def design(outstanding: int, *, updates: bool) -> Any:
    """The hardware, without memory behind it."""
    M, N = ELEMENTS, COUNT

    def scatter(at: int32[N], v: int32[N], B: int32[M]):
        for i in range(N):
            B[at[i]] = v[i]

    def histogram(at: int32[N], v: int32[N], B: int32[M]):
        for i in range(N):
            B[at[i]] += v[i]

    s = allo.customize(histogram if updates else scatter)
    s.pipeline("i")
    asked = {"kind": "m_axi", "outstanding": outstanding}
    configs = {"interface": {"at": "m_axi", "v": "m_axi", "B": asked}}
    return s.build(target="verilog", simulator="jit", clock_mhz=CLOCK, configs=configs)


def expected(places: np.ndarray, v: np.ndarray, B: np.ndarray, *, updates: bool) -> np.ndarray:
    """What NumPy leaves in B."""
    B = B.copy()
    if updates:
        np.add.at(B, places, v)
    else:
        B[places] = v
    return B


def main() -> int:
    """Measure, print, write; 1 when a limit is missed or an element is wrong."""
    target = command_line(__doc__).parse_args().json
    rng = np.random.default_rng(0)
    places = rng.integers(0, ELEMENTS, COUNT).astype(np.int32)
    v = rng.integers(-1000, 1000, COUNT).astype(np.int32)
    first = rng.integers(-(2**30), 2**30, ELEMENTS).astype(np.int32)
    rows: list[Row] = []
    for updates in (False, True):
        name = "histogram" if updates else "scatter"
        for outstanding in (64, 1):
            ran = on_channels(design(outstanding, updates=updates), ARRAYS)
            B = first.copy()
            ran(places, v, B)
            if not np.array_equal(B, expected(places, v, first, updates=updates)):
                raise SystemExit("rtl_scatter: elements differ from NumPy's")
            most = limit(places, outstanding, updates=updates)
            rows += request_rows(name, ran, most, outstanding)
    return finish("rtl_scatter", "Random stores of 4 bytes to a channel of HBM2", rows, target)


if __name__ == "__main__":
    sys.exit(main())
