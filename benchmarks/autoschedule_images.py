"""Schedules found for networks of images at 3 × 32 × 32, int8, with the DSPs of CODO: three networks.

scripts/python benchmarks/autoschedule_images.py [--network NAME ...] [--seconds S] [--no-simulation]

Each network is a plain kernel of ``designs/networks``. The published designs have int8 elements, weights and
sums, without batch norms; ours have int32 sums that become int8 again behind each layer. The limits are the
DSPs of the published design, and its cycles are what ours must be below. As there, weights are arguments.

Every design is run whole in the in-process simulator on random images and weights: every result must be that
of the CPU build and of NumPy, and the cycles those of the report. DSPs, lookup tables and the clock are
estimates; the published designs are counted at 300 MHz. With ``--no-simulation`` cycles are those of the
report, and their figures are called so.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np

from allo.backend.devices import DEFAULT_DEVICE, resources_of
from allo.backend.sim.module import RTLModule
from allo.designs.networks.mobilenet import MOBILENET
from allo.designs.networks.network import Network
from allo.designs.networks.resnet import RESNET
from allo.designs.networks.vgg import VGG
from allo.errors import CapacityWarning
from allo.explore import FoundSchedule
from benchmarks.autoschedule_models import CLOCK, search
from benchmarks.harness import Row, command_line, finish

SECONDS = 100.0


@dataclass(frozen=True, slots=True)
class Published:
    """A network, and the cycles and DSPs that CODO's compiler published for it, of HLS synthesis."""

    network: Network
    cycles: int
    dsp: int


NETWORKS = {
    "mobilenet": Published(MOBILENET, 80_000, 220),
    "resnet": Published(RESNET, 1_690_000, 468),
    "vgg": Published(VGG, 1_220_000, 376),
}


def built(found: FoundSchedule) -> RTLModule:
    """The hardware of a schedule, with its report."""
    hardware: RTLModule = found.build(
        target="verilog", simulator="jit", clock_mhz=CLOCK, device=DEFAULT_DEVICE
    )
    return hardware


def check(network: Network, found: FoundSchedule, hardware: RTLModule) -> None:
    """Run a design beside NumPy and the CPU build of its schedule.

    Raises:
        RuntimeError: results or cycles differ.
    """
    arrays = network.inputs(np.random.default_rng(12))
    got = hardware(*arrays)
    if not np.array_equal(got, network.reference(*arrays)):
        raise RuntimeError(f"{found.top_func_name}: RTL and NumPy differ.")
    if not np.array_equal(got, found.build(opt_level=0)(*arrays)):
        raise RuntimeError(f"{found.top_func_name}: RTL and CPU differ.")
    if hardware.cycles != found.trace.cycles:
        raise RuntimeError(f"{found.top_func_name}: not the cycles of the report.")


def row_of(name: str, seconds: float, simulate: bool) -> Row:
    """One network within the DSPs of the published design.

    Raises:
        RuntimeError: results or cycles differ, or data decide the cycles.
    """
    published = NETWORKS[name]
    began, worked = time.monotonic(), time.process_time()
    found = search(published.network, published.dsp, seconds)
    took, work = time.monotonic() - began, time.process_time() - worked
    hardware, trace = built(found), found.trace
    cycles, clock = trace.cycles, hardware.report.fmax_mhz
    if cycles is None or clock is None:
        raise RuntimeError(f"{name}: no cycles or no clock are known.")
    if simulate:
        check(published.network, found, hardware)
    taken = next(t for t in trace.tried if t.cycles == trace.cycles).resources
    share = max(taken.get(k, 0) / resources_of(DEFAULT_DEVICE)[k] for k in ("dsp", "lut", "bram"))
    key = f"networks.{name}.{'published' if simulate else 'report'}"
    how = "simulated whole, all results those of NumPy" if simulate else "not simulated"
    note = (
        f"published at {published.dsp:,} DSP; {taken.get('dsp', 0):,} DSP, {taken.get('lut', 0):,} LUT, "
        f"{taken.get('bram', 0):,} BRAM, {share:.0%} of the device; {cycles / clock:,.0f} µs at "
        f"{clock:.0f} MHz as estimated, published {published.cycles / CLOCK:,.0f}; search {took:.0f} s "
        f"({work:.0f} s of processor time), {len(trace.tried)} reports; {how}"
    )
    return Row(
        f"{name}, {published.dsp:,} DSP", cycles, "cycles", "CODO", published.cycles, True, note,
        {
            f"{key}.cycles": cycles,
            f"{key}.dsp": taken.get("dsp", 0),
            f"{key}.lut": taken.get("lut", 0),
            f"{key}.bram": taken.get("bram", 0),
            f"{key}.mhz": round(clock),
            f"{key}.run_ms": round(cycles / clock / 1000, 2),
            f"{key}.search_ms": round(1000 * work),
        },
    )  # fmt: skip


def main() -> int:
    """Search, simulate, compare, print, write; 1 when a network takes more cycles than published."""
    parser = command_line(__doc__)
    parser.add_argument("--network", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--no-simulation", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore", CapacityWarning)
    rows: list[Row] = []
    for name in given.network:
        rows.append(row_of(name, given.seconds, not given.no_simulation))
        print(f"{rows[-1].what}: {rows[-1].value:,.0f}; {rows[-1].note}", flush=True)
    return finish("autoschedule_images", "Schedules found for networks of images", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
