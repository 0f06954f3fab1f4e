"""PolyBench at MEDIUM from external memory: microseconds beside those that Prometheus publishes.

scripts/python benchmarks/rtl_memory.py [--kernel NAME ...] [--timing dram]

The designs are those of `designs/polybench/memory`. Each is run three times at full size: with its
arrays on chip, with whole arrays copied over AXI (`m_axi`), and with tiles cached from channels of HBM.
Vectors have one channel, matrices one or four. **The channels are ideal** unless `--timing dram` is
given: RAM ports with the bandwidth and latency of HBM, not AXI, and with neither rows nor refresh. Time
is cycles at the clock that the report estimates for the design, at which the channels run too; nothing
was placed and routed. Every element of every run is compared with the CPU build of the same schedule
(same bits), and with NumPy.
Prometheus (FCCM'25) is RTL simulation for a U55C at 220 to 250 MHz, transfers counted.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from allo.backend.devices import DEFAULT_DEVICE
from allo.backend.sim import external_memory
from allo.backend.sim.boundary.traffic import DRAM, IDEAL, MEMORY_KINDS
from allo.customize import Schedule
from allo.designs.polybench.memory import NAMES, Design, load
from allo.designs.polybench.memory.shape import Shape
from benchmarks.harness import Row, finish

PUBLISHED = {
    "gesummv": 24.6,
    "mvt": 43.7,
    "atax": 179.6,
    "bicg": 41.5,
    "gemm": 75.7,
    "two_mm": 118.8,
    "three_mm": 123.8,
    "symm": 113.9,
    "syrk": 109.8,
    "syr2k": 129.9,
    "trmm": 49.6,
}
"""Microseconds of Prometheus."""
CHANNELS = {"one": 1, "many": 4}
"""Of each matrix, by the name of the shape."""
KIND, SIZE, CLOCK = "hbm2", "medium", 300.0
TOLERANCE = 1e-4
"""Of the largest element, against NumPy, which adds in another order."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A design: cycles with its arrays on chip, copied over AXI, and cached from channels."""

    core: int
    copied: int
    cached: int
    mhz: float
    dsp: int
    bytes_moved: int
    limit: str


def channels_of(design: Design, which: str) -> dict[str, int]:
    """How many channels each array has."""
    size = design.SIZES[SIZE]
    matrices = {name for name, moved in design.bytes_needed(size).items() if moved > 8 * max(size)}
    return {name: CHANNELS[which] if name in matrices else 1 for name in design.ARRAYS}


def bound(name: str, which: str) -> float:
    """Microseconds that the channels take at least: those of the busiest, for each byte once."""
    design = load(name)
    needed, channels = design.bytes_needed(design.SIZES[SIZE]), channels_of(design, which)
    rate = MEMORY_KINDS[KIND].gigabytes_per_second * 1e3
    return max(moved / (channels[array] * rate) for array, moved in needed.items())


def measure(name: str, which: str, timing: str) -> Measured:
    """Run a design in its three surroundings.

    Raises:
        RuntimeError: when a run does not give the bits of the CPU build.
    """
    design = load(name)
    tiled = design.schedule(design.SIZES[SIZE], design.SHAPES[which])
    core, copied = _on_chip(name, design.SHAPES[which])
    mhz = tiled.estimate(device=DEFAULT_DEVICE, clock_mhz=CLOCK).fmax_mhz
    cached = _run(design, tiled, memory=_channels(design, which, mhz, timing))
    report = cached.report
    if abs(report.fmax_mhz - mhz) > 1:
        raise RuntimeError(
            f"{name}: the channels change the clock from {mhz} to {report.fmax_mhz}."
        )
    found = cached.transfers
    dsp = report.resources["dsp"]
    return Measured(core, copied, cached.cycles, mhz, dsp, found.moved, found.limit)


@cache
def _on_chip(name: str, shape: Shape) -> tuple[int, int]:
    """Cycles with the arrays on chip, and with whole arrays copied over AXI."""
    design = load(name)
    whole = design.schedule(design.SIZES[SIZE], shape, cached=False)
    axi = {"interface": dict.fromkeys(design.ARRAYS, {"kind": "m_axi", "copy": True})}
    return _run(design, whole).cycles, _run(design, whole, configs=axi).cycles


def _channels(design: Design, which: str, mhz: float, timing: str) -> dict[str, Any]:
    left = iter(external_memory(KIND, clock_mhz=mhz, timing=timing))
    return {
        name: tuple(next(left) for _ in range(count))
        for name, count in channels_of(design, which).items()
    }


def _run(design: Design, schedule: Schedule, **options: Any) -> Any:
    """The design after a run whose elements are those of the CPU build."""
    hardware = schedule.build(
        target="verilog", simulator="jit", clock_mhz=CLOCK, device=DEFAULT_DEVICE, **options
    )
    return same_as_cpu(design, schedule, hardware)


def same_as_cpu(design: Design, schedule: Schedule, hardware: Any) -> Any:
    """A built design after a run at full size.

    Raises:
        RuntimeError: when its elements are not those of the CPU build.
    """
    size = design.SIZES[SIZE]
    ours, cpu, numpy = (design.inputs(np.random.default_rng(12), size) for _ in range(3))
    hardware(*ours)
    schedule.build()(*cpu)
    design.reference(*numpy)
    for a, b, c in zip(ours, cpu, numpy, strict=True):
        if a.tobytes() != b.tobytes():
            raise RuntimeError(f"{schedule.top_func_name}: RTL and CPU differ.")
        np.testing.assert_allclose(b, c, rtol=0, atol=TOLERANCE * np.abs(c).max())
    return hardware


def row_of(name: str, which: str, timing: str) -> Row:
    """The time of a design beside Prometheus."""
    design, found = load(name), measure(name, which, timing)
    counts = channels_of(design, which)
    needed = sum(design.bytes_needed(design.SIZES[SIZE]).values())
    shape = design.SHAPES[which]
    note = (
        f"{found.cached:,} cycles, {found.core:,} with arrays on chip, {found.copied:,} by copies over AXI; "
        f"estimated {found.mhz:.0f} MHz, {found.dsp} DSP, {shape.lanes} lanes, {shape.rows} rows; "
        f"{sum(counts.values())} {timing} channels; {found.bytes_moved:,} bytes, {needed:,} needed; "
        f"bound by {found.limit}; channels take at least {bound(name, which):.1f} µs"
    )
    place = which if timing == IDEAL else f"{which}.{timing}"
    figures: dict[str, float] = {
        "core.cycles": found.core,
        "copied.cycles": found.copied,
        "cached.cycles": found.cached,
        "mhz": round(found.mhz, 1),
        "dsp": found.dsp,
    }
    return Row(
        f"{name}, {CHANNELS[which]} channel{'s' * (which != 'one')} a matrix",
        found.cached / found.mhz,
        "µs",
        "Prometheus",
        PUBLISHED[name],
        note=note,
        figures={f"memory.{name}.{place}.{what}": value for what, value in figures.items()},
    )


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="PolyBench from external memory", add_help=False)
    parser.add_argument("--kernel", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--timing", choices=(IDEAL, DRAM), default=IDEAL)
    given, rest = parser.parse_known_args()
    rows = [row_of(name, which, given.timing) for name in given.kernel for which in CHANNELS]
    title = (
        f"PolyBench MEDIUM, fp32, DRAM to DRAM on {given.timing} channels of HBM, estimated clock"
    )
    return finish("rtl_memory", title, rows, rest)


if __name__ == "__main__":
    sys.exit(main())
