"""Vector kernels of PolyBench at MEDIUM over AXI4, from memory to memory: microseconds beside Prometheus.

scripts/python benchmarks/rtl_memory_axi.py [--kernel NAME ...]

The designs of `benchmarks/rtl_memory.py` for one channel an array, in the generated wrapper: an AXI4 master
of 512 bits for each array, whose elements pass by bursts while the design computes. Behind each master is a
channel of HBM2, first an ideal one and then one with banks, rows and refresh (`timing="dram"`). Cycles are
of the whole run, from the write that starts it to the interrupt; time is at the clock that the report
estimates for the design with its wrapper. Every element has the bits of the CPU build.
"""

from __future__ import annotations

import argparse
import sys

from allo.backend.devices import DEFAULT_DEVICE
from allo.backend.sim import external_memory
from allo.designs.polybench.memory import load
from benchmarks.harness import Row, finish
from benchmarks.rtl_memory import CLOCK, KIND, PUBLISHED, SIZE, bound, same_as_cpu

KERNELS = ("gesummv", "mvt", "atax", "bicg")
TIMINGS = {"axi": "ideal", "dram": "dram"}
LEAST = 0.9
"""Share of an ideal channel's bandwidth that a design must reach."""


def rows_of(name: str) -> list[Row]:
    """A kernel behind ideal channels, and behind banks."""
    design = load(name)
    schedule = design.schedule(design.SIZES[SIZE], design.SHAPES["one"])
    hardware = schedule.build(
        target="verilog",
        simulator="jit",
        clock_mhz=CLOCK,
        device=DEFAULT_DEVICE,
        configs={"interface": dict.fromkeys(design.ARRAYS, "m_axi")},
    )
    mhz, least = hardware.report.fmax_mhz, bound(name, "one")
    rows = []
    for figure, timing in TIMINGS.items():
        channels = external_memory(KIND, clock_mhz=mhz, timing=timing)
        placed = dict(zip(design.ARRAYS, channels, strict=False))
        ran = same_as_cpu(design, schedule, hardware.variant(memory=placed))
        time, buses = ran.cycles / mhz, [m.bundle for m in ran.design.board.masters]
        moved = sum(ran.traffic.channels[bundle].bytes for bundle in buses)
        note = (
            f"{ran.cycles:,} cycles at an estimated {mhz:.0f} MHz; {moved:,} bytes; the busiest channel "
            f"takes at least {least:.1f} µs: {100 * least / time:.1f} % of its bandwidth"
        )
        figures: dict[str, float] = {f"memory.{name}.{figure}.cycles": ran.cycles}
        if timing == "ideal":
            figures[f"memory.{name}.axi.mhz"] = round(mhz, 1)
            what = f"{name}, ideal channels, at 90 % of the bandwidth"
            rows.append(Row(what, time, "µs", "limit", least / LEAST, at_most=True))
        what = f"{name}, {timing} channels"
        rows.append(
            Row(what, time, "µs", "Prometheus", PUBLISHED[name], note=note, figures=figures)
        )
    return rows


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="PolyBench over AXI", add_help=False)
    parser.add_argument("--kernel", nargs="+", choices=KERNELS, default=KERNELS)
    given, rest = parser.parse_known_args()
    rows = [row for name in given.kernel for row in rows_of(name)]
    title = "PolyBench MEDIUM, fp32, over AXI4 from channels of HBM2, estimated clock"
    return finish("rtl_memory_axi", title, rows, rest)


if __name__ == "__main__":
    sys.exit(main())
