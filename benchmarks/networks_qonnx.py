"""QONNX networks that others trained: levels and results beside qonnx's executor, and whole networks in RTL.

scripts/python benchmarks/networks_qonnx.py [--network NAME …] [--inputs N] [--images N] [--folder F]

The files lie beside the project, in ``../shared/networks/qonnx``, or where --folder says. Of random and
structured inputs, every level that a quantiser gives, the greatest result and the results are compared with
qonnx's executor. Where a level differs, the executor's chain is computed again in float64 from the exact sum:
the difference counts as a tie only where the real value stands at the edge between the two levels, within
what float32 rounds; any other is an error. The CPU build is compared with the reference on every input, and
simulated RTL on some, with all columns of a product side by side. Cycles are simulated, and those of the
report; LUT, flip-flops, DSP, block RAM of 18 kbit and clock are our estimate for a PYNQ-Z2; nothing is
synthesised.
Layers run one after the other: a network takes its next input after all cycles of the last one, where
published designs have all layers at once.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from qonnx.core.onnx_exec import execute_onnx

from allo.boards import board
from allo.errors import ClockWarning
from allo.frontend import from_qonnx
from allo.ir.types import Fixed
from allo.models.integers.reference import Reference
from allo.qonnx.entry import converted, reference_of
from allo.qonnx.nodes.floats import in_floats
from allo.qonnx.reading import read
from benchmarks.harness import Row, command_line, finish, networks_of_others

DEVICE = board("pynq-z2").family
EDGE = 1e-4
"""How near to an edge between two levels, in levels, a sum counts as a tie of float32."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A network, the type of its input, and a published rate.

    Attributes:
        file: of the network.
        input_type: None for float32, as in the file.
        spread: of random inputs.
        published: results in a second of a design for the same task; 0 where none is known.
        source: whose that is.
    """

    file: str
    input_type: Any
    spread: float
    published: float = 0
    source: str = ""


NETWORKS = {
    "tfc_1w1a": Trained("tfc_1w1a.onnx", None, 1.0),
    "tfc_2w2a": Trained("tfc_2w2a.onnx", None, 1.0),
    "jet_tagger": Trained("jet_tagging_6bit.onnx", Fixed(16, 10), 2.0),
    "keyword_mlp": Trained("keyword_mlp_w3a3.onnx", None, 40.0, 57_268, "FINN, this task"),
}


def inputs_of(shape: tuple[int, ...], trained: Trained, count: int) -> list[np.ndarray]:
    """Random inputs, then zeros, extremes, ramps and single spikes, all on the grid of the input."""
    random = np.random.default_rng(0)
    size = int(np.prod(shape))
    ramp = np.linspace(-1, 1, size)
    kinds = [0 * ramp, 0 * ramp + 1, 0 * ramp - 1, ramp, -ramp, np.sign(np.sin(np.arange(size)))]
    kinds += [np.eye(1, size, k)[0] for k in (0, size // 2, size - 1)]
    found = [random.normal(0, trained.spread, size) for _ in range(count - len(kinds))]
    found += [kind * trained.spread for kind in kinds]
    grid = 1024.0 if trained.input_type is not None else 2.0**20
    return [(np.round(x * grid) / grid).reshape(shape).astype(np.float32) for x in found]


class Comparison:
    """Counts of what was compared with the executor."""

    def __init__(self, file: Path, trained: Trained) -> None:
        self.graph, self.wrapper = read(file)
        self.converter = converted(self.graph, trained.input_type)
        self.made = self.converter.made
        self.runner = Reference(self.made, in_floats)
        self.reference = reference_of(self.made)
        self.levels = self.ties = 0
        self.apart = 0.0

    def run(self, x: np.ndarray) -> np.ndarray:
        """Compare one input; the results of the reference."""
        name = next(iter(self.graph.inputs))
        found = execute_onnx(self.wrapper, {name: x}, return_full_exec_context=True)
        values: dict[str, Any] = {**self.runner.fixed, next(iter(self.made.inputs)): x}
        for op in self.made.operators:
            values[op.name] = self.runner.result(op, values)
        tied = False
        for tensor, (made, grid) in self.converter.levels.items():
            theirs = grid.levels(found[tensor])
            differing = values[made] != theirs
            if differing.any() and not tied:  # behind a tie all may differ
                self._judge(tensor, found, grid, values[made], differing)
            self.levels += 0 if tied else theirs.size
            tied |= bool(differing.any())
            self.ties += int(differing.any())
        result = values[self.made.outputs[0]]
        expected = found[self.graph.outputs[0]]
        if result.reshape(-1)[expected.argmax()] != result.max():  # two of ours may be equal
            raise RuntimeError("The greatest result is another one.")
        if not tied:
            self.apart = max(self.apart, float(np.abs(result - expected).max()))
        return np.asarray(result)

    def _judge(self, tensor: str, found: Any, grid: Any, ours: Any, differing: Any) -> None:
        """A difference is a tie where the executor's own value stands at an edge."""
        node = next(n for n in self.graph.nodes if tensor in n.outputs)
        before = (found[node.inputs[0]].astype(np.float64) - grid.offset) / grid.scale
        edge = np.abs(before - np.floor(before) - 0.5)[differing]
        near = np.abs(ours - grid.levels(found[tensor]))[differing].max() == 1
        if not near or edge.max() > EDGE:
            raise RuntimeError(f"{tensor}: levels differ, and not at an edge.")


def side_by_side(s: Any) -> None:
    """Each cycle, an input times its weights of all columns; thresholds one element a cycle."""
    for choice in list(s.choices):
        band = s.get_loops(choice.function)
        if choice.target == "levels.matmul":
            nest = band["matmul"]
            s.unroll(nest["k1"])
            for loop in ("j0", "k0", "o0"):
                s.pipeline(nest[loop])
            s.partition(f"{choice.function}:row")
            s.partition(f"{choice.function}:g_{choice.function}_other", dim=2)
        elif choice.target in ("levels.thresholds", "levels.table", "levels.scaled"):
            nest = band[choice.target.split(".")[1]]
            s.pipeline(nest[list(dict(nest))[-1]])


def rows_of(name: str, folder: Path, inputs: int, images: int) -> list[Row]:
    """One network."""
    trained = NETWORKS[name]
    comparison = Comparison(folder / trained.file, trained)
    calls = inputs_of(next(iter(comparison.graph.inputs.values())), trained, inputs)
    built = from_qonnx(folder / trained.file, input_type=trained.input_type)
    expected = [comparison.run(x) for x in calls]
    for x, result in zip(calls, expected, strict=True):
        if not np.array_equal(built(x), result):
            raise RuntimeError(f"{name}: the CPU build differs from the reference.")
    s = from_qonnx(folder / trained.file, input_type=trained.input_type, target="mlir")
    side_by_side(s)
    hardware = s.build(target="verilog", simulator="jit", device=DEVICE)
    report = hardware.report
    for x, result in list(zip(calls, expected, strict=True))[:: max(1, inputs // images)][:images]:
        if not np.array_equal(hardware(x), result):
            raise RuntimeError(f"{name}: RTL differs from the reference.")
        if hardware.cycles != report.cycles:
            raise RuntimeError(f"{name}: not the cycles of the report.")
    mhz = report.fmax_mhz or 0
    taken = {kind: report.resources.get(kind, 0) for kind in ("lut", "ff", "dsp", "bram")}
    key = f"qonnx.{name}"
    figures = {f"{key}.cycles": report.cycles, f"{key}.mhz": round(mhz)}
    figures |= {f"{key}.{kind}": count for kind, count in taken.items()}
    note = (
        f"{comparison.levels:,} levels of {len(calls)} inputs equal the executor's but for "
        f"{comparison.ties} ties of float32, and so the greatest result; results at most "
        f"{comparison.apart:.2g} apart; {images} inputs in RTL; {taken['lut']:,} LUT, {taken['ff']:,} FF, "
        f"{taken['dsp']} DSP, {taken['bram']} BRAM18, {mhz:.0f} MHz estimated for {DEVICE}"
    )
    rows = [Row(name, report.cycles, "cycles", "simulated", hardware.cycles, None, note, figures)]
    if trained.published:
        rate = mhz * 1e6 / report.cycles
        rows.append(Row(f"{name}: inputs", rate, "1/s", trained.source, trained.published))
    return rows


def main() -> int:
    """Compare, simulate, print, write; 1 when something differs, or a file is not there."""
    parser = command_line(__doc__)
    parser.add_argument("--network", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--inputs", type=int, default=100)
    parser.add_argument("--images", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    folder = networks_of_others(given.folder, "qonnx")
    warnings.simplefilter("ignore", ClockWarning)
    rows: list[Row] = []
    for name in given.network:
        found = rows_of(name, folder, given.inputs, given.images)
        print(f"{name}: {found[0].value:,.0f} cycles; {found[0].note}", flush=True)
        rows += found
    return finish("networks_qonnx", "QONNX networks", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
