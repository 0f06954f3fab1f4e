"""Gradient-boosted trees of scikit-learn's digits: an image in each cycle, and tables beside Yosys.

scripts/python benchmarks/trees.py [--clock MHZ] [--json FILE]

`large.onnx` of tests/qonnx/trees holds the trees that scikit-learn trained on 1,200 of its 1,797 digits and
skl2onnx exported. Every sum of all images in simulation is compared with the CPU, and the labels with those
of scikit-learn, which the file beside it holds. LUT and clock are estimates for UltraScale+; Yosys counts the
lookup tables of the same Verilog, and routes nothing. TreeLUT's published figures are Vivado's, of trees of
jets.
"""

from __future__ import annotations

import sys
import zipfile

import numpy as np

from allo.backend.devices import DEFAULT_DEVICE
from allo.backend.synth import synthesize
from allo.frontend import from_trees
from allo.ir.types import UInt
from allo.qonnx.packages import load
from allo.qonnx.trees.reading import read_ensemble
from benchmarks.harness import ROOT, Row, command_line, finish

FOLDER = ROOT / "tests" / "qonnx" / "trees"
CLOCK_MHZ = 400.0
STEP = 1 / 8


def measure(clock: float) -> list[Row]:
    """Build, run all images, synthesise.

    Raises:
        RuntimeError: a sum differs from that of the CPU.
    """
    with zipfile.ZipFile(FOLDER / "trees.zip") as archive:
        model = load("onnx").load_from_string(archive.read("large.onnx"))
    digits = np.load(FOLDER / "digits.npz")
    images, count = digits["pixels"][:, None], len(digits["pixels"])
    ensemble = read_ensemble(model)
    trees = sum(map(len, ensemble.trees))
    s = from_trees(
        model, input_type=UInt(5), step=STEP, accept_error=1.0, samples=count, target="mlir"
    )
    hardware = s.build(target="verilog", simulator="jit", device=DEFAULT_DEVICE, clock_mhz=clock)
    found = np.asarray(hardware(images))
    if not np.array_equal(found, np.asarray(s.build()(images))):
        raise RuntimeError("A sum in simulation differs from that of the CPU.")
    share = float((found[:, 0].argmax(1) == digits["large_labels"]).mean())
    report = hardware.report
    made = synthesize(hardware.verilog, s.top_func_name, DEFAULT_DEVICE)
    lut, loop, key = report.resources["lut"], report.functions[0].loops[0], "trees.digits"
    figures = {
        f"{key}.share": round(share, 4),
        f"{key}.lut": lut,
        f"{key}.mhz": round(report.fmax_mhz),
        f"{key}.cycles": loop.depth,
        f"{key}.yosys.lut": made.lut,
    }
    note = (
        f"{trees} trees, {count:,} images simulated in {hardware.cycles:,} cycles, {loop.depth} "
        f"cycles each at {report.fmax_mhz:.0f} MHz; {report.resources['ff']} registers"
    )
    what = "digits by boosted trees"
    return [
        Row(f"{what}: LUT by estimate", lut, "LUT", "Yosys", made.lut, None, note, figures),
        Row(f"{what}: the same", lut, "LUT", "TreeLUT on jets, published", 2_234),
        Row(f"{what}: interval", loop.ii, "cycles", "goal", 1, True),
        Row(f"{what}: labels of scikit-learn", share, "", "goal", 0.99, False),
    ]


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--clock", type=float, default=CLOCK_MHZ)
    given = parser.parse_args()
    return finish("trees", "Ensembles of trees", measure(given.clock), given.json)


if __name__ == "__main__":
    sys.exit(main())
