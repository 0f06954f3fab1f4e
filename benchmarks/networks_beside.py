"""Networks on a Zynq-7020's multipliers and memories, with all layers at work on many samples.

scripts/python benchmarks/networks_beside.py [--folder F] [--samples N] [--network NAME …]

MLPerf Tiny's autoencoder of int8, and the keyword perceptron of 3 bits in QONNX, with an input of int8. Every
result of two calls, of N and of 2 N random samples, is compared with the CPU build, which is held to the
file's interpreter by benchmarks/networks_tflite.py and networks_qonnx.py. Cycles are simulated in the
in-process engine; those of a sample are the difference of the two calls over N. Rate = clock over cycles of a
sample; the clock is our estimate, and so are multipliers, LUT and block RAM (18 kbit). No synthesis ran,
and samples are on chip: a board has to bring 640 or 490 bytes a sample. The published rates are of boards:
hls4ml's of a network for the same task with fewer and narrower weights, FINN's of this perceptron.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from allo.boards import board
from allo.designs.quantised.perceptrons_beside import folds_for, shapes_of, side_by_side
from allo.designs.quantised.products_beside import products_beside
from allo.frontend import from_qonnx, from_tflite
from allo.ir.types import int8
from benchmarks.harness import ROOT, Row, finish

FOLDERS = (ROOT.parent / "shared/networks", ROOT.parents[1] / "shared/networks")
BOARD = board("pynq-z2")
"""A Zynq-7020."""
CLOCK_MHZ = 100.0
THERE = {kind: BOARD.resources[kind] for kind in ("dsp", "lut", "bram")}
LANES = {"MatMul_11": 128, "MatMul_24": 64, "MatMul_37": 64, "MatMul_50": 4}


def autoencoder(file: Path, samples: int) -> Any:
    """The schedule of the autoencoder."""
    s = from_tflite(file, target="mlir", samples=samples)
    side_by_side(s, folds_for(shapes_of(s), THERE["dsp"]))
    return s


def keywords(file: Path, samples: int) -> Any:
    """The schedule of the keyword perceptron."""
    s = from_qonnx(file, target="mlir", samples=samples, input_type=(int8, 1 / 16))
    products_beside(s, LANES, ("i3", "o1"))
    return s


@dataclass(frozen=True, slots=True)
class Beside:
    """A network.

    Attributes:
        file: in the folder of networks.
        schedule: of the file and a number of samples.
        key: of its figures.
        rate: the published samples a second, and who published them.
    """

    file: str
    schedule: Callable[[Path, int], Any]
    key: str
    rate: float
    source: str


NETWORKS = {
    "autoencoder": Beside(
        "tflite/anomaly_autoencoder_int8.tflite",
        autoencoder,
        "tflite.autoencoder.beside",
        53_365,
        "hls4ml, AD08, a smaller network",
    ),
    "keywords": Beside(
        "qonnx/keyword_mlp_w3a3.onnx", keywords, "qonnx.keyword_mlp.beside", 57_268, "FINN"
    ),
}


def measured(network: Beside, folder: Path, samples: int) -> Any:
    """The hardware for so many samples in a call, after one call; all results were compared."""
    s = network.schedule(folder / network.file, samples)
    (like,) = s.origin.inputs()
    given = np.random.default_rng(samples).integers(-128, 128, like.shape).astype(np.int8)
    expected = s.build()(given)
    rtl = s.build(target="verilog", simulator="jit", device=BOARD.family, clock_mhz=CLOCK_MHZ)
    if not np.array_equal(rtl(given), expected):
        raise RuntimeError(f"{network.file}: RTL and CPU differ.")
    return rtl


def rows_of(name: str, folder: Path, samples: int) -> list[Row]:
    """The rate of a network, and what it takes."""
    network = NETWORKS[name]
    few, many = (measured(network, folder, count) for count in (samples, 2 * samples))
    each = (many.cycles - few.cycles) / samples
    mhz, key = many.report.fmax_mhz, network.key
    rate = mhz * 1e6 / each
    taken = {kind: many.report.resources.get(kind, 0) for kind in THERE}
    figures = {f"{key}.cycles": round(each), f"{key}.mhz": round(mhz), f"{key}.rate": round(rate)}
    figures |= {f"{key}.{kind}": count for kind, count in taken.items()}
    note = (
        f"{each:,.0f} cycles a sample (calls of {samples} and {2 * samples} samples take "
        f"{few.cycles:,} and {many.cycles:,}, predicted {few.report.cycles:,} and "
        f"{many.report.cycles:,}), {mhz:.0f} MHz estimated"
    )
    what = f"{name}, samples a second"
    rows = [Row(what, rate, "1/s", network.source, network.rate, False, note, figures)]
    return rows + [
        Row(f"{name}, {kind.upper()} of a Zynq-7020", count, "", "there are", THERE[kind], True)
        for kind, count in taken.items()
    ]


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, help="where the networks are")
    parser.add_argument("--samples", type=int, default=16, help="of the smaller call")
    parser.add_argument("--network", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    arguments, options = parser.parse_known_args()
    folder = arguments.folder or next((f for f in FOLDERS if f.is_dir()), None)
    if folder is None:
        raise SystemExit(f"The networks are not in {FOLDERS[0]}; say where they are: --folder F.")
    rows = [row for name in arguments.network for row in rows_of(name, folder, arguments.samples)]
    return finish("networks_beside", "Layers side by side", rows, options)


if __name__ == "__main__":
    sys.exit(main())
