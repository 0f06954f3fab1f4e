"""PolyBench at MEDIUM over AXI4, from memory to memory: microseconds beside those that Prometheus publishes.

scripts/python benchmarks/rtl_memory.py [--kernel NAME ...] [--channels one|many ...] [--timing ideal]
    [--switch on]

The designs are those of `designs/polybench/memory`, in the generated wrapper: an AXI4 master of 512 bits for
each channel. Every array has one channel of HBM2, or a matrix has four. Behind the masters is the model of
dynamic memory, with banks, rows, refresh and a controller that reorders; with `--timing ideal` it is one
with bandwidth and latency alone. Each master has one channel to itself, so the switch between the channels
is off; `--switch on` has it on, as the platforms of Vitis do, and records nothing. Cycles are of the whole
run, from the write that starts it to the interrupt; beside them stand those of the same design with its
arrays in RAM on chip (the core). Time is cycles at the clock that the report estimates for the design with
its wrapper, at which the channels run too; nothing was placed and routed. Every element of every run is
compared with the CPU build of the same schedule (same bits), and with NumPy. Prometheus (FCCM'25) is RTL
simulation for a U55C at 220 to 250 MHz, transfers counted.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from allo.backend.devices import DEFAULT_DEVICE
from allo.backend.sim import external_memory
from allo.backend.sim.boundary.traffic import DRAM, IDEAL
from allo.customize import Schedule
from allo.designs.polybench.memory import NAMES, Design, load
from benchmarks.external_runs import same_as_cpu
from benchmarks.harness import Row, command_line, finish

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
VECTORS = ("gesummv", "mvt", "atax", "bicg")
"""Kernels that use each element of a matrix once or twice: memory bounds them."""
CHANNELS = {"one": 1, "many": 4}
"""Of each matrix, by the name of the shape."""
KIND, SIZE, CLOCK = "hbm2", "medium", 300.0
ACHIEVABLE = 13.3
"""GB/s that the model of a channel reaches where lines are read in order; 14.4 is the peak of its bus."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A design: cycles with its arrays on chip, and from memory to memory; what it takes, and moves."""

    core: int
    cycles: int
    mhz: float
    dsp: int
    lut: int
    moved: int
    copied: tuple[str, ...]


def channels_of(design: Design, which: str) -> dict[str, range]:
    """Which channels each array has: one after the other, a matrix one or four."""
    size = design.SIZES[SIZE]
    found, first = {}, 0
    for name, moved in design.bytes_needed(size).items():
        count = CHANNELS[which] if moved > 8 * max(size) else 1
        found[name] = range(first, first + count)
        first += count
    return found


def spelled(channels: range) -> str:
    """Channels as ``s.place`` names them."""
    return f"hbm[{channels[0]}]" if len(channels) == 1 else f"hbm[{channels[0]}:{channels[-1] + 1}]"


def bound(name: str, which: str, rate: float = 14.4) -> float:
    """Microseconds that the channels take at least: those of the busiest, for each byte once.

    Args:
        rate: of a channel, in GB/s.
    """
    design = load(name)
    needed, channels = design.bytes_needed(design.SIZES[SIZE]), channels_of(design, which)
    return max(moved / (len(channels[array]) * rate * 1e3) for array, moved in needed.items())


def measure(name: str, which: str, timing: str, switch: str = "auto") -> Measured:
    """Run a design with its arrays on chip, and from memory to memory.

    Raises:
        RuntimeError: when a run does not give the bits of the CPU build.
    """
    design = load(name)
    size = design.SIZES[SIZE]
    schedule = design.schedule(size, design.SHAPES[which])
    core = same_as_cpu(design, size, schedule, _built(schedule))
    places = channels_of(design, which)
    masters = {
        array: {"kind": "m_axi", "bundle": [f"hbm{n}" for n in channels]}
        for array, channels in places.items()
    }
    hardware = _built(schedule, configs={"interface": masters})
    mhz = hardware.report.fmax_mhz
    every = external_memory(KIND, clock_mhz=mhz, timing=timing, switch=switch)
    memory = {array: every[channels[0] : channels[-1] + 1] for array, channels in places.items()}
    ran = same_as_cpu(design, size, schedule, hardware.variant(memory=memory))
    buses = ran.traffic.channels
    used = ran.report.resources
    return Measured(
        core=core.cycles,
        cycles=ran.cycles,
        mhz=mhz,
        dsp=used["dsp"],
        lut=used["lut"],
        moved=sum(buses[master.bundle].bytes for master in ran.design.board.masters),
        copied=tuple(array.name for array in ran.design.board.arrays if array.beside is None),
    )


def _built(schedule: Schedule, **options: Any) -> Any:
    return schedule.build(
        target="verilog", simulator="jit", clock_mhz=CLOCK, device=DEFAULT_DEVICE, **options
    )


def row_of(name: str, which: str, timing: str, switch: str = "auto") -> Row:
    """The time of a design beside Prometheus."""
    design, found = load(name), measure(name, which, timing, switch)
    places = ", ".join(f"{a} {spelled(c)}" for a, c in channels_of(design, which).items())
    needed = sum(design.bytes_needed(design.SIZES[SIZE]).values())
    time = found.cycles / found.mhz
    copied = f"; copied whole: {', '.join(found.copied)}" if found.copied else ""
    note = (
        f"{places}; {timing}; switch {switch}; {found.cycles:,} cycles, {found.core:,} of the core; "
        f"estimated {found.mhz:.0f} MHz, {found.dsp:,} DSP, {found.lut:,} LUT; {found.moved:,} bytes, "
        f"{needed:,} needed; "
        f"{bound(name, which, ACHIEVABLE) / time:.1%} of what the busiest channel achieves{copied}"
    )
    figures: dict[str, float] = {
        "core.cycles": found.core,
        "cycles": found.cycles,
        "mhz": round(found.mhz, 1),
        "dsp": found.dsp,
        "lut": found.lut,
    }
    return Row(
        f"{name}, {CHANNELS[which]} channel{'s' * (which != 'one')} a matrix",
        time,
        "µs",
        "Prometheus",
        PUBLISHED[name],
        note=note,
        figures={
            f"memory.{name}.{which}.{what}": value
            for what, value in figures.items()
            if timing == DRAM and switch == "auto"
        },
    )


def main() -> int:
    """Measure, print, write."""
    parser = command_line(__doc__)
    parser.add_argument("--kernel", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--channels", nargs="+", choices=CHANNELS, default=tuple(CHANNELS))
    parser.add_argument("--timing", choices=(IDEAL, DRAM), default=DRAM)
    parser.add_argument("--switch", choices=("auto", "on"), default="auto")
    given = parser.parse_args()
    how = given.timing, given.switch
    rows = [row_of(name, which, *how) for name in given.kernel for which in given.channels]
    title = (
        f"PolyBench MEDIUM, fp32, over AXI4 from {given.timing} channels of {KIND}, estimated clock"
    )
    return finish("rtl_memory", title, rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
