"""Kernels of PolyBench from memory to memory: schedules found by search beside designs made by hand.

scripts/python benchmarks/autoschedule_memory.py [--kernel NAME ...] [--seconds S]

The search is given the plain kernel, AXI4 masters for its arrays, and the DSPs of the design by hand
(`designs/polybench/memory`, whose kernels fetch their arrays by themselves), at MINI. It may add sums up in
another order, as those designs do, and has so many CPU seconds. Arrays that are copied whole come in while
the core runs (`early`). Both designs are then simulated with each
array on a channel of HBM2 of its own, with banks and refresh; every element has the bits of the CPU build of
the same schedule, and is compared with NumPy. Cycles are those from start to interrupt, and time is cycles
at the clock that the report estimates, at most the one that is asked for.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import allo
from allo.backend.devices import DEFAULT_DEVICE
from allo.backend.sim import external_memory
from allo.customize import Schedule
from allo.designs.polybench import kernels
from allo.designs.polybench.memory import NAMES, load
from allo.errors import CapacityWarning, ClockWarning
from benchmarks.external_runs import same_as_cpu
from benchmarks.harness import Row, command_line, finish

KIND, SIZE, CLOCK = "hbm2", "mini", 300.0
CLOSE = 1.05
"""Of the time by hand: what the search is to reach."""


def built(schedule: Schedule, interface: Any = "m_axi") -> Any:
    """The hardware of a schedule, each array on a channel with banks."""
    options = {"clock_mhz": CLOCK, "device": DEFAULT_DEVICE, "configs": {"interface": interface}}
    made = schedule.build(target="verilog", simulator="jit", warnings=False, **options)
    channels = external_memory(KIND, clock_mhz=CLOCK, timing="dram")
    names = [array.name for array in made.design.board.arrays]
    return made.variant(memory=dict(zip(names, channels, strict=False)))


def time_ns(module: Any) -> float:
    """The time of a run that was simulated, at the clock of the report."""
    return float(round(1e3 * module.cycles / min(CLOCK, module.report.fmax_mhz), 1))


def row_of(name: str, seconds: float) -> Row:
    """The time of what is found beside that by hand.

    Raises:
        RuntimeError: when elements are not those of the CPU build.
    """
    design, kernel = load(name), kernels.load(name)
    size = design.SIZES[SIZE]
    by_hand = design.schedule(size, design.SHAPES[SIZE])
    hand = same_as_cpu(design, size, by_hand, built(by_hand))
    interface = {array: {"kind": "m_axi", "early": True} for array in design.ARRAYS}
    with warnings.catch_warnings():
        for kind in (CapacityWarning, ClockWarning):
            warnings.simplefilter("ignore", kind)
        found = allo.autoschedule(
            kernels.plain(name, size),
            device=DEFAULT_DEVICE,
            clock_mhz=CLOCK,
            max_dsp=hand.report.resources["dsp"],
            interface=interface,
            reassociate=True,
            seconds=seconds,
            cache=False,
            timer=time.process_time,
        )
    ran = same_as_cpu(kernel, size, found, built(found, interface))
    passing = [a.name for a in ran.design.board.arrays if a.beside is not None]
    copied = [a.name for a in ran.design.board.arrays if a.beside is None]
    used, theirs = ran.report.resources, hand.report.resources
    note = (
        f"{ran.cycles:,} cycles, {hand.cycles:,} by hand; {used['dsp']:,} DSP of {theirs['dsp']:,}, "
        f"{used['lut']:,} LUT, {theirs['lut']:,} by hand; core {ran.foretold.core:,}, "
        f"{hand.foretold.core:,} by hand; passing: {', '.join(passing) or 'none'}; "
        f"copied whole: {', '.join(copied) or 'none'}; estimated {ran.report.fmax_mhz:.0f} MHz, "
        f"{hand.report.fmax_mhz:.0f} by hand; {len(found.trace.tried)} designs in "
        f"{seconds:g} s of CPU"
    )
    figures = {
        "latency": ran.cycles,
        "core.latency": ran.foretold.core,
        "hand.latency": hand.cycles,
        "hand.core.latency": hand.foretold.core,
        "mhz": ran.report.fmax_mhz,
        "hand.mhz": hand.report.fmax_mhz,
        "lut": used["lut"],
        "hand.lut": theirs["lut"],
    }
    return Row(
        f"{name}, {SIZE}",
        time_ns(ran),
        "ns",
        "by hand",
        time_ns(hand),
        note=note,
        figures={f"external.found.{name}.{what}": value for what, value in figures.items()},
    )


def main() -> int:
    """Measure, print, write."""
    parser = command_line(__doc__)
    parser.add_argument("--kernel", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--seconds", type=float, default=60.0, help="of CPU, of each search")
    given = parser.parse_args()
    rows = []
    for name in given.kernel:
        rows.append(row_of(name, given.seconds))
        print(
            rows[-1].what, f"{rows[-1].value:,}", f"{rows[-1].ratio:.2f}", rows[-1].note, flush=True
        )
    close = sum(row.ratio <= CLOSE for row in rows)
    rows.append(Row("within 5 % of those by hand", close, "kernels", "of", len(rows)))
    return finish(
        "autoschedule_memory", f"Found beside by hand, {KIND} with banks", rows, given.json
    )


if __name__ == "__main__":
    sys.exit(main())
