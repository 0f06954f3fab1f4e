"""Networks on a Zynq-7020's multipliers and memories, with all layers at work on many samples.

scripts/python benchmarks/networks_beside.py [--folder F] [--samples N] [--network NAME …]

MLPerf Tiny's autoencoder of int8, and the keyword perceptron of 3 bits in QONNX, with an input of int8, on
arrays; MLPerf Tiny's ResNet-8 and MobileNet-V1 0.25 of int8, and a network of signs of CNV's shape with
random weights, on streams. Every result of two calls is compared with the CPU build of the network, one
sample after the other, which is held to the file's interpreter by benchmarks/networks_tflite.py and
networks_qonnx.py. Cycles are simulated in the in-process engine; those of a sample are the difference of the
two calls over that of their samples: N and 2 N on arrays, and on streams one behind as many as fill all
layers. Rate = clock over cycles of a sample; the clock is our estimate, and so are multipliers, LUT and block
RAM (18 kbit). No synthesis ran, and samples are on chip: a board has to bring 490 to 27,648 bytes a sample.
The published rates are of boards: hls4ml's of a network for the autoencoder's task with fewer and narrower
weights, FINN's of this perceptron and of a trained CNV.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from allo.boards import board
from allo.designs.quantised.convolutions import network_of_signs
from allo.designs.quantised.perceptrons_beside import folds_for, shapes_of, side_by_side
from allo.designs.quantised.products_beside import products_beside
from allo.frontend import from_qonnx, from_tflite
from allo.ir.types import int8
from benchmarks.harness import Row, command_line, finish, networks_of_others

BOARD = board("pynq-z2")
"""A Zynq-7020."""
CLOCK_MHZ = 100.0
THERE = {kind: BOARD.resources[kind] for kind in ("dsp", "lut", "bram")}
CNV_FPS = 4_000
"""For which the network of CNV's shape is folded."""
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


def streamed(fps: float) -> Callable[[Path, int], Any]:
    """The schedules of a network of TFLite on streams, with foldings for a rate."""
    options = {"streams": True, "target_fps": fps, "clock_mhz": CLOCK_MHZ, "resources": THERE}
    return lambda file, samples: from_tflite(file, target="mlir", samples=samples, **options)


def signs(file: Path, samples: int) -> Any:
    """The schedule of a network of CNV's shape, which stands in no file."""
    return from_qonnx(
        network_of_signs(),
        input_type=(int8, 1 / 128),
        target="mlir",
        samples=samples,
        streams=True,
        target_fps=CNV_FPS,
        clock_mhz=CLOCK_MHZ,
        resources=THERE,
    )


@dataclass(frozen=True, slots=True)
class Beside:
    """A network.

    Attributes:
        file: in the folder of networks.
        schedule: of the file and a number of samples.
        one: the network of one sample on the CPU.
        key: of its figures.
        rate: the published samples a second.
        source: who published it.
        before: of layers on streams, samples of the smaller call, which fill all layers.
        sizes: whether the smallest depths of its FIFOs are searched, too.
    """

    file: str
    schedule: Callable[[Path, int], Any]
    one: Callable[[Path], Any]
    key: str
    rate: float
    source: str
    before: int = 0
    sizes: bool = False


NETWORKS = {
    "autoencoder": Beside(
        "tflite/anomaly_autoencoder_int8.tflite",
        autoencoder,
        from_tflite,
        "tflite.autoencoder.beside",
        53_365,
        "hls4ml, AD08, a smaller network",
    ),
    "keywords": Beside(
        "qonnx/keyword_mlp_w3a3.onnx",
        keywords,
        lambda file: from_qonnx(file, input_type=(int8, 1 / 16)),
        "qonnx.keyword_mlp.beside",
        57_268,
        "FINN",
    ),
    "resnet8": Beside(
        "tflite/resnet8_int8.tflite",
        streamed(2_480),
        from_tflite,
        "tflite.resnet8.beside",
        2_432,
        "fpgaConvNet, closed",
        2,
        True,
    ),
    "mobilenet": Beside(
        "tflite/person_mobilenet_int8.tflite",
        streamed(540),
        from_tflite,
        "tflite.mobilenet.beside",
        105,
        "published",
        2,
    ),
    "cnv": Beside(
        "",
        signs,
        lambda file: from_qonnx(network_of_signs(), input_type=(int8, 1 / 128)),
        "qonnx.cnv.beside",
        661,
        "FINN, a trained network",
        5,
    ),
}


def measured(network: Beside, folder: Path, samples: int) -> Any:
    """The hardware for so many samples in a call, after one call; all results were compared."""
    s = network.schedule(folder / network.file, samples)
    (like,) = s.origin.inputs()
    given = np.random.default_rng(samples).integers(-128, 128, like.shape).astype(np.int8)
    one = network.one(folder / network.file)
    expected = np.stack([one(sample) for sample in given])
    rtl = s.build(target="verilog", simulator="jit", device=BOARD.family, clock_mhz=CLOCK_MHZ)
    if not np.array_equal(rtl(given), expected):
        raise RuntimeError(f"{network.file}: RTL and CPU differ.")
    return rtl


def sized(network: Beside, folder: Path) -> list[Row]:
    """Bits of FIFOs with which a call of two images takes as long as with FIFOs that are never full."""
    if not network.sizes:
        return []
    s = network.schedule(folder / network.file, 2)
    found = s.size_fifos(device=BOARD.family, clock_mhz=CLOCK_MHZ, warnings=False)
    before, after = found.bits_before, found.bits
    key = network.key.removesuffix(".beside")
    figures = {f"{key}.sized.bits": after, f"{key}.streams.bits": before}
    note = (
        f"{found.cycles:,} cycles of two images, {found.unbounded:,} with endless FIFOs, foretold"
    )
    return [Row("bits of FIFOs, sized", after, "bit", "before", before, True, note, figures)]


def foretold(rtl: Any) -> str:
    """The cycles of a call as its report foretells them, where a region is not too large for that."""
    return f"foretold {rtl.report.cycles:,}" if rtl.report.cycles else "not foretold"


def rows_of(name: str, folder: Path, samples: int) -> list[Row]:
    """The rate of a network, and what it takes."""
    network = NETWORKS[name]
    before = network.before
    counts = (before, before + 1) if before else (samples, 2 * samples)
    few, many = (measured(network, folder, count) for count in counts)
    each = (many.cycles - few.cycles) / (counts[1] - counts[0])
    mhz, key = many.report.fmax_mhz, network.key
    rate = mhz * 1e6 / each
    taken = {kind: many.report.resources.get(kind, 0) for kind in THERE}
    figures = {f"{key}.cycles": round(each), f"{key}.mhz": round(mhz), f"{key}.rate": round(rate)}
    figures |= {f"{key}.{kind}": count for kind, count in taken.items()}
    note = (
        f"{each:,.0f} cycles a sample (calls of {counts[0]} and {counts[1]} samples take "
        f"{few.cycles:,} and {many.cycles:,}, {foretold(few)} and {foretold(many)}), "
        f"{mhz:.0f} MHz estimated"
    )
    what = f"{name}, samples a second"
    rows = [Row(what, rate, "1/s", network.source, network.rate, False, note, figures)]
    rows += [
        Row(f"{name}, {kind.upper()} of a Zynq-7020", count, "", "there are", THERE[kind], True)
        for kind, count in taken.items()
    ]
    return rows + sized(network, folder)


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--folder", type=Path, help="where the networks are")
    parser.add_argument("--samples", type=int, default=16, help="of the smaller call, on arrays")
    parser.add_argument("--network", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    arguments = parser.parse_args()
    folder = networks_of_others(arguments.folder)
    rows = [row for name in arguments.network for row in rows_of(name, folder, arguments.samples)]
    return finish("networks_beside", "Layers side by side", rows, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
