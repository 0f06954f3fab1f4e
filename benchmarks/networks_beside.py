"""MLPerf Tiny's autoencoder on a Zynq-7020's multipliers, with all layers at work on many samples.

scripts/python benchmarks/networks_beside.py [--folder F] [--samples N]

Every result of two calls, of N and of 2 N random samples, is compared with the CPU build, which is held to
the interpreter by benchmarks/networks_tflite.py. Cycles are simulated in the in-process engine; those of a
sample are the difference of the two calls over N. Rate = clock over cycles of a sample; the clock is our
estimate for xc7, and so are multipliers, LUT and block RAM (18 kbit). Nothing is synthesised, and samples are
on chip: a board has to bring 640 bytes a sample. The published rate is hls4ml's on a PYNQ-Z2, of a network
for the same task with fewer and narrower weights.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from allo.designs.quantised.perceptrons_beside import folds_for, shapes_of, side_by_side
from allo.frontend import from_tflite
from benchmarks.harness import Row, finish
from benchmarks.networks_tflite import FOLDERS, NETWORKS

DEVICE, CLOCK_MHZ = "xc7", 100.0
THERE = {"dsp": 220, "lut": 53_200, "bram": 280}
"""Of a Zynq-7020."""
KEY = "tflite.autoencoder.beside"


def measured(file: Path, samples: int) -> Any:
    """The hardware for so many samples in a call, after one call; all results were compared."""
    s = from_tflite(file, target="mlir", samples=samples)
    side_by_side(s, folds_for(shapes_of(s), THERE["dsp"]))
    rng = np.random.default_rng(samples)
    given = rng.integers(-128, 128, (samples, 1, 640)).astype(np.int8)
    expected = s.build()(given)
    rtl = s.build(target="verilog", simulator="jit", device=DEVICE, clock_mhz=CLOCK_MHZ)
    if not np.array_equal(rtl(given), expected):
        raise RuntimeError("RTL and CPU differ.")
    return rtl


def rows_of(file: Path, samples: int) -> list[Row]:
    """The rate, and what it takes."""
    few, many = measured(file, samples), measured(file, 2 * samples)
    each = (many.cycles - few.cycles) / samples
    report = many.report
    rate = report.fmax_mhz * 1e6 / each
    taken = {kind: report.resources.get(kind, 0) for kind in THERE}
    figures = {
        f"{KEY}.cycles": each,
        f"{KEY}.mhz": round(report.fmax_mhz),
        f"{KEY}.rate": round(rate),
    }
    figures |= {f"{KEY}.{kind}": count for kind, count in taken.items()}
    note = (
        f"{each:,.0f} cycles a sample (calls of {samples} and {2 * samples} samples take {few.cycles:,} and "
        f"{many.cycles:,}, predicted {few.report.cycles:,} and {many.report.cycles:,}), "
        f"{report.fmax_mhz:.0f} MHz estimated"
    )
    trained = NETWORKS["autoencoder"]
    rows = [
        Row("samples a second", rate, "1/s", trained.source, trained.rate, False, note, figures)
    ]
    rows += [
        Row(f"{kind.upper()} of a Zynq-7020", count, "", "there are", THERE[kind], True)
        for kind, count in taken.items()
    ]
    return rows


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, help="where the networks are")
    parser.add_argument("--samples", type=int, default=16, help="of the smaller call")
    arguments, options = parser.parse_known_args()
    folder = arguments.folder or next((f for f in FOLDERS if f.is_dir()), None)
    if folder is None:
        raise SystemExit(f"The networks are not in {FOLDERS[0]}; say where they are: --folder F.")
    rows = rows_of(folder / NETWORKS["autoencoder"].file, arguments.samples)
    return finish("networks_beside", "Layers side by side", rows, options)


if __name__ == "__main__":
    sys.exit(main())
