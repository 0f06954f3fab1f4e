"""The other kernels of PolyBench over AXI4, from memory to memory: cycles beside those of the core alone.

scripts/python benchmarks/rtl_memory_suite.py [--kernel NAME ...] [--timing ideal]

The 19 kernels for which Prometheus publishes no time, each array in a channel of HBM2 of its own
(`designs/polybench/memory/rest`). Three take a line of the bus at a time; the others have the schedules of
`designs/polybench` and no cache: what a kernel takes in order passes while it runs, and the rest is copied.
At SMALL, every run is simulated whole, with the model of dynamic memory behind the masters; every element
is compared with the CPU build of the same schedule (same bits), and with NumPy. At MEDIUM the three are
simulated so, too; of the others, cycles are what `mod.foretold` says, and nothing is simulated. Time is
cycles at the clock that the report estimates.
"""

from __future__ import annotations

import sys
from typing import Any

from allo.backend.devices import DEFAULT_DEVICE
from allo.backend.sim import external_memory
from allo.backend.sim.boundary.traffic import DRAM, IDEAL
from allo.customize import Schedule
from allo.designs.polybench.kernels import load
from allo.designs.polybench.memory.rest.suite import NAMES, OWN, arrays_of, schedule
from benchmarks.external_runs import same_as_cpu
from benchmarks.harness import Row, command_line, finish

KIND, CLOCK = "hbm2", 300.0
SIMULATED, FORETOLD = "small", "medium"


def built(s: Schedule, arrays: tuple[str, ...], timing: str) -> Any:
    """The hardware of a schedule, with the n-th array on the n-th channel."""
    made = s.build(target="verilog", simulator="jit", clock_mhz=CLOCK, device=DEFAULT_DEVICE)
    channels = external_memory(KIND, clock_mhz=made.report.fmax_mhz, timing=timing)
    return made.variant(memory=dict(zip(arrays, channels, strict=False)))


def simulate(name: str, size: tuple[int, ...], timing: str) -> Any:
    """A kernel's hardware after a run.

    Raises:
        RuntimeError: when its elements are not those of the CPU build.
    """
    s, kernel = schedule(name, size), load(name)
    return same_as_cpu(kernel, size, s, built(s, arrays_of(name), timing))


def row_of(name: str, timing: str) -> Row:
    """A kernel simulated at one size, and foretold at a larger one."""
    sizes = load(name).SIZES
    ran = simulate(name, sizes[SIMULATED], timing)
    core, moved = ran.foretold.core, ran.transfers
    if name in OWN:
        larger = simulate(name, sizes[FORETOLD], timing)
    else:
        larger = built(schedule(name, sizes[FORETOLD]), arrays_of(name), timing)
    told = larger.foretold
    cycles = larger.cycles if name in OWN else told.cycles
    passing = [a.name for a in ran.design.board.arrays if a.beside is not None]
    used = larger.report.resources
    figures: dict[str, float] = {
        "small.core.cycles": core,
        "small.cycles": ran.cycles,
        "small.foretold.cycles": ran.foretold.cycles,
        "small.moved.bytes": moved.moved,
        "small.needed.bytes": moved.whole,
        "small.busy.share": round(100 * moved.share, 1),
        "medium.core.cycles": told.core,
        "medium.cycles": cycles,
        "medium.moved.bytes": sum(p.moved for p in told.passing),
        "medium.mhz": round(larger.report.fmax_mhz, 1),
        "dsp": used.get("dsp", 0),
        "lut": used["lut"],
    }
    note = (
        f"{timing}; passing: {', '.join(passing) or 'none'}; {moved}; foretold "
        f"{ran.foretold.cycles:,}; medium: "
        f"{cycles:,} cycles, {told.cycles:,} foretold, {told.core:,} of the core, "
        f"{larger.report.fmax_mhz:.0f} MHz"
    )
    return Row(
        f"{name}, {SIMULATED}",
        ran.cycles,
        "cycles",
        "core",
        core,
        note=note,
        figures={f"memory.suite.{name}.{k}": v for k, v in figures.items() if timing == DRAM},
    )


def main() -> int:
    """Measure, print, write."""
    parser = command_line(__doc__)
    parser.add_argument("--kernel", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--timing", choices=(IDEAL, DRAM), default=DRAM)
    given = parser.parse_args()
    rows = []
    for name in given.kernel:
        rows.append(row_of(name, given.timing))
        print(rows[-1].what, f"{rows[-1].value:,}", rows[-1].note, flush=True)
    title = f"PolyBench, fp32 and int32, over AXI4 from {given.timing} channels of {KIND}"
    return finish("rtl_memory_suite", title, rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
