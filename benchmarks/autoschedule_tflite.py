"""Schedules found for networks of MLPerf Tiny from their TFLite files, with 220 DSPs of a U280.

scripts/python benchmarks/autoschedule_tflite.py [--network NAME ...] [--seconds S] [--folder F]

``allo.autoschedule`` gets each network as ``from_tflite`` lowers it, with no schedule, and as many
multipliers as a Zynq-7020 has, at 100 MHz. One image is then computed by simulated RTL, in the in-process
engine: every result must be that of the CPU build of the file, which networks_tflite.py holds to TFLite's
interpreter, and the cycles must be those of the report. What stands beside them are the cycles with nothing
but the innermost loops pipelined, by the report of the same search. Resources are estimates.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np

import allo
from allo.backend.devices import DEFAULT_DEVICE
from allo.errors import CapacityWarning
from allo.frontend import from_tflite
from allo.tflite.entry import example_inputs
from allo.tflite.reader import read_network
from benchmarks.harness import Row, command_line, finish, networks_of_others
from benchmarks.networks_tflite import NETWORKS

DSP = 220
CLOCK_MHZ = 100.0
SECONDS = 30.0
KINDS = ("dsp", "lut", "bram")


def row_of(name: str, folder: Path, seconds: float) -> Row:
    """One network.

    Raises:
        RuntimeError: results or cycles differ.
    """
    file = folder / NETWORKS[name].file
    image = example_inputs(read_network(file), 0)
    given = from_tflite(file, target="mlir")
    began = time.process_time()
    found = allo.autoschedule(
        given,
        device="u280",
        max_dsp=DSP,
        clock_mhz=CLOCK_MHZ,
        seconds=seconds,
        inputs=lambda rng: image,
        cache=False,
        timer=time.process_time,
    )
    work, trace = time.process_time() - began, found.trace
    hardware = found.build(
        target="verilog", simulator="jit", device=DEFAULT_DEVICE, clock_mhz=CLOCK_MHZ
    )
    if not np.array_equal(hardware(*image), from_tflite(file)(*image)):
        raise RuntimeError(f"{name}: RTL and CPU differ.")
    if hardware.cycles != trace.cycles:
        raise RuntimeError(f"{name}: not the cycles of the report.")
    taken = {kind: hardware.report.resources.get(kind, 0) for kind in KINDS}
    key, plain = f"tflite.{name}.scheduled", trace.plain or hardware.cycles
    note = (
        f"pipelines of innermost loops {plain:,}; {taken['dsp']} DSP, {taken['lut']:,} LUT, "
        f"{taken['bram']} BRAM18, {hardware.report.fmax_mhz or 0:.0f} MHz estimated; bound of the model "
        f"{trace.bound:,}, gap {trace.gap or 0:.1%}; {len(trace.tried)} reports in {work:.0f} s "
        f"of a processor ({trace.ended}); one image simulated"
    )
    figures = {f"{key}.{kind}": count for kind, count in taken.items()}
    figures |= {
        f"{key}.cycles": hardware.cycles,
        f"{key}.pipelines.cycles": plain,
        f"{key}.bound.cycles": trace.bound,
        f"{key}.search_ms": round(1000 * work),
    }
    return Row(name, hardware.cycles, "cycles", "pipelines", plain, True, note, figures)


def main() -> int:
    """Search, simulate, compare, print, write; 1 where a network is slower than with pipelines."""
    parser = command_line(__doc__)
    parser.add_argument("--network", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    folder = networks_of_others(given.folder, "tflite")
    warnings.simplefilter("ignore", CapacityWarning)
    rows: list[Row] = []
    for name in given.network:
        rows.append(row_of(name, folder, given.seconds))
        print(f"{rows[-1].what}: {rows[-1].value:,.0f} cycles; {rows[-1].note}", flush=True)
    return finish("autoschedule_tflite", "Schedules found for TFLite networks", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
