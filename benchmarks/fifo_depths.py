"""Depths of the FIFOs between the layers of nine models, against FIFOs that hold all words.

scripts/python benchmarks/fifo_depths.py [--model NAME ...] [--no-simulation]

The models are those of ``designs/networks``, with every layer a process that reads and writes in order
(``designs/networks/streamed``), float32, for a U280 at 300 MHz. ``size_fifos`` finds the smallest depths with
which the design takes as many cycles as with FIFOs that are never full. Bits are words times bits of a word,
against FIFOs that hold every word that passes through them; the limit is the 2 % that FIFOAdvisor published
for block RAM at 1.00 times the latency. Seconds are of a processor: those of ``size_fifos``, which builds the
design and then times tens of runs of it. What any first build makes, such as operators, is made before.

Each design is then simulated in process with these depths: its cycles must be those foretold, all its results
the bits of the CPU build, and within 1e-4 of the largest element of NumPy's.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from allo.backend.devices import DEFAULT_DEVICE
from allo.designs.networks.streamed.models import STREAMED, Streamed, scheduled
from benchmarks.harness import Row, command_line, finish

OPTIONS: dict[str, Any] = {"device": DEFAULT_DEVICE, "clock_mhz": 300.0, "subnormals": "flush"}
DEPTH = 1 << 16
"""Before the search: more words than pass between two layers."""
SHARE, SECONDS, TOLERANCE = 0.02, 10.0, 1e-4
"""FIFOAdvisor's share of bits, seconds that a search may take, and the largest difference from NumPy."""


def simulated(model: Streamed, schedule: Any) -> int:
    """Cycles of a design in simulation, its results compared with the CPU build and NumPy.

    Raises:
        RuntimeError: results differ.
    """
    arrays = model.inputs(np.random.default_rng(7))
    hardware = schedule.build(target="verilog", simulator="jit", **OPTIONS)
    got = hardware(*arrays)
    if got.tobytes() != schedule.build(subnormals="flush", opt_level=0)(*arrays).tobytes():
        raise RuntimeError(f"{schedule.top_func_name}: RTL and CPU differ.")
    wanted = model.reference(*arrays)
    if np.abs(got - wanted).max() > TOLERANCE * np.abs(wanted).max():
        raise RuntimeError(f"{schedule.top_func_name}: RTL and NumPy differ.")
    return int(hardware.cycles)


def rows_of(name: str, simulate: bool) -> list[Row]:
    """One model."""
    model = STREAMED[name]
    schedule = scheduled(model, DEPTH)
    schedule.build(target="verilog", **OPTIONS)
    began = time.process_time()
    found = schedule.size_fifos(**OPTIONS)
    seconds = time.process_time() - began
    if simulate and simulated(model, schedule) != found.cycles:
        raise RuntimeError(f"{name}: not the cycles of the search.")
    key = f"networks.{name}.fifos"
    depths = ", ".join(f"{fifo.name} {fifo.after:,}" for fifo in found.fifos)
    note = (
        f"{found.bits:,} of {found.bits_of_all:,} bits, {found.cycles:,} cycles, unbounded "
        f"{found.unbounded:,}; {found.runs:,} runs timed; depths {depths}"
        + ("; simulated, bits of the CPU" if simulate else "")
    )
    figures = {
        f"{key}.cycles": found.cycles,
        f"{key}.bits": found.bits,
        f"{key}.search_ms": round(1000 * seconds),
    }
    share = found.bits / found.bits_of_all
    return [
        Row(f"{name}: bits of FIFOs", 100 * share, "%", "FIFOAdvisor", 100 * SHARE, True, note, figures),
        Row(f"{name}: search", seconds, "s", "limit", SECONDS, True),
    ]  # fmt: skip


def main() -> int:
    """Search, simulate, compare, print, write; 1 where a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--model", nargs="+", choices=list(STREAMED), default=list(STREAMED))
    parser.add_argument("--no-simulation", action="store_true")
    given = parser.parse_args()
    rows: list[Row] = []
    for name in given.model:
        rows += rows_of(name, not given.no_simulation)
        print(f"{rows[-2].what}: {rows[-2].value:.2f} %; {rows[-2].note}", flush=True)
    return finish("fifo_depths", "Depths of FIFOs between layers", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
