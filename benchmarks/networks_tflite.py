"""TFLite networks that others trained: results compared with the interpreter, and whole networks in RTL.

scripts/python benchmarks/networks_tflite.py [--network NAME …] [--inputs N] [--images N] [--lanes N]
[--folder F]

The files of MLPerf Tiny lie beside the project, in ``../shared/networks/tflite``, or where --folder says. Of
random and structured inputs, the results of the CPU build and every tensor of the reference are compared
with the interpreter of ``ai-edge-litert`` and TFLite's reference kernels. Some images are computed by
simulated RTL, in the in-process engine; its results are compared with the CPU build, and its cycles are those
foretold. Multipliers, LUTs, block RAM of 18 kbit and clock are our estimate for a PYNQ-Z2, asked for 100 MHz;
nothing is synthesised. Layers run one after the other: what stands against the published rates is the time
of one image.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from allo.boards import board
from allo.frontend import from_tflite
from allo.tflite.entry import example_inputs
from allo.tflite.network import Network
from allo.tflite.reader import read_network
from allo.tflite.reference import Integers
from benchmarks.harness import Row, command_line, finish, networks_of_others

DEVICE, CLOCK_MHZ = board("pynq-z2").family, 100


@dataclass(frozen=True, slots=True)
class Trained:
    """A network of MLPerf Tiny, and a published rate for its task.

    Attributes:
        file: of the network.
        rate: images in a second.
        source: where the rate was published, and for which network.
    """

    file: str
    rate: float
    source: str


NETWORKS = {
    "autoencoder": Trained(
        "anomaly_autoencoder_int8.tflite", 53_365, "hls4ml, AD08, a smaller network"
    ),
    "ds_cnn": Trained("keywords_ds_cnn_int8.tflite", 57_268, "FINN, a perceptron of 3 bits"),
    "resnet8": Trained("resnet8_int8.tflite", 2_432, "published, closed"),
    "mobilenet": Trained("person_mobilenet_int8.tflite", 105, "published"),
}


def structured(network: Network) -> list[list[np.ndarray]]:
    """Zeros, both extremes and ramps."""
    info = network.tensors[network.inputs[0]]
    low, high = info.bounds
    count = int(np.prod(info.shape))
    at = np.arange(count)
    kinds = (0 * at, 0 * at + low, 0 * at + high, low + at % 256, low + at * 101 % 256)
    return [[kind.reshape(info.shape).astype(info.dtype)] for kind in kinds]


def compared(file: Path, built: Any, calls: list[list[np.ndarray]]) -> tuple[int, int]:
    """Hold every result to the interpreter; the numbers of results and of tensors' elements compared."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    made = Interpreter(
        str(file),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    made.allocate_tensors()
    network = read_network(file)
    reference, results, elements = Integers(network), 0, 0
    for inputs in calls:
        for index, array in zip(network.inputs, inputs, strict=True):
            made.set_tensor(index, array)
        made.invoke()
        values = reference.tensors(*inputs)
        for node in network.nodes:
            for index in node.outputs:
                if not np.array_equal(values[index], made.get_tensor(index)):
                    raise RuntimeError(f"{file.name}: {node.path} of the reference differs.")
                elements += values[index].size
        if not np.array_equal(built(*inputs), made.get_tensor(network.outputs[0])):
            raise RuntimeError(f"{file.name}: the CPU build differs from the interpreter.")
        results += values[network.outputs[0]].size
    return results, elements


def rows_of(name: str, folder: Path, inputs: int, images: int, lanes: int) -> list[Row]:
    """One network."""
    trained = NETWORKS[name]
    file = folder / trained.file
    network = read_network(file)
    calls = [example_inputs(network, seed) for seed in range(inputs)] + structured(network)
    built = from_tflite(file)
    results, elements = compared(file, built, calls)
    s = from_tflite(file, target="mlir", lanes=lanes)
    report = s.estimate(device=DEVICE, clock_mhz=CLOCK_MHZ)
    hardware = s.build(target="verilog", simulator="jit", device=DEVICE, clock_mhz=CLOCK_MHZ)
    for call in calls[:images]:
        if not np.array_equal(hardware(*call), built(*call)):
            raise RuntimeError(f"{name}: RTL and CPU differ.")
        if hardware.cycles != report.cycles:
            raise RuntimeError(f"{name}: not the cycles of the report.")
    what = f"{name}, {lanes} lanes"
    key, mhz = f"tflite.{name}.lanes_{lanes}", report.fmax_mhz or 0
    taken = {kind: report.resources.get(kind, 0) for kind in ("dsp", "lut", "bram")}
    figures = {f"{key}.cycles": report.cycles, f"{key}.mhz": round(mhz)}
    figures |= {f"{key}.{kind}": count for kind, count in taken.items()}
    note = (
        f"{results:,} results of {len(calls)} inputs equal the interpreter's, {elements:,} elements of all "
        f"tensors in the reference; {images} in RTL; {taken['dsp']} DSP, {taken['lut']:,} LUT, "
        f"{taken['bram']} BRAM18, {mhz:.0f} MHz estimated for {DEVICE}"
    )
    return [
        Row(what, report.cycles, "cycles", "foretold", report.cycles, None, note, figures),
        Row(
            f"{what}: images",
            mhz * 1e6 / report.cycles,
            "1/s",
            trained.source,
            trained.rate,
            None,
        ),
    ]  # fmt: skip


def main() -> int:
    """Compare, simulate, print, write; 1 when a result differs, or a file is not there."""
    parser = command_line(__doc__)
    parser.add_argument("--network", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    for name, value in (("inputs", 100), ("images", 1), ("lanes", 8)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    folder = networks_of_others(given.folder, "tflite")
    rows: list[Row] = []
    for name in given.network:
        rows += rows_of(name, folder, given.inputs, given.images, given.lanes)
        print(f"{rows[-2].what}: {rows[-2].value:,.0f} cycles; {rows[-2].note}", flush=True)
    return finish("networks_tflite", "TFLite networks of MLPerf Tiny", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
