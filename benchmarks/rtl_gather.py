"""A gather of random words of 4 bytes from HBM, beside the limit of the memory model.

scripts/bench rtl_gather

`y[i] = x[at[i]]` over 16,384 random elements of an array of 64 MB, each array on a channel of HBM2 of its
own behind an AXI4 master, with banks, rows and refresh (`timing="dram"`). The design asks for single
elements, with 64 requests under way, and with one for comparison. The limit is what the model of one channel
answers by itself to the same addresses, with as many requests under way. Cycles are of the whole run, at the
clock that the report estimates; every element is compared with NumPy's.
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

ARRAYS = ("at", "x", "y")


def limit(places: np.ndarray, outstanding: int) -> float:
    """Million requests a second that the model of a channel answers by itself."""
    burst = HBM2.burst_bytes
    addresses = places.astype(np.int64) * 4 // burst * burst
    ends = DramChannel(HBM2).replay(addresses, outstanding=outstanding)
    return float(len(places) / (ends.max() / HBM2.mhz))


def design(outstanding: int) -> Any:
    """The hardware of the gather, without memory behind it."""
    M, N = ELEMENTS, COUNT

    def gather(at: int32[N], x: int32[M], y: int32[N]):
        for i in range(N):
            y[i] = x[at[i]]

    s = allo.customize(gather)
    s.pipeline("i")
    asked = {"kind": "m_axi", "outstanding": outstanding}
    interface = {"at": "m_axi", "x": asked, "y": "m_axi"}
    configs = {"interface": interface}
    return s.build(target="verilog", simulator="jit", clock_mhz=CLOCK, configs=configs)


def main() -> int:
    """Measure, print, write; 1 when the limit is missed or an element is wrong."""
    target = command_line(__doc__).parse_args().json
    rng = np.random.default_rng(0)
    places = rng.integers(0, ELEMENTS, COUNT).astype(np.int32)
    x = rng.integers(-(2**31), 2**31, ELEMENTS, dtype=np.int64).astype(np.int32)
    rows: list[Row] = []
    for outstanding in (64, 1):
        ran = on_channels(design(outstanding), ARRAYS)
        y = np.zeros(COUNT, np.int32)
        ran(places, x, y)
        if not np.array_equal(y, x[places]):
            raise SystemExit("rtl_gather: elements differ from NumPy's")
        rows += request_rows("gather", ran, limit(places, outstanding), outstanding)
    return finish("rtl_gather", "Random words of 4 bytes from a channel of HBM2", rows, target)


if __name__ == "__main__":
    sys.exit(main())
