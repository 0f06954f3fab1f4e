"""Products with constant matrices: adders and lookup tables against da4ml's Verilog, and a jet tagger.

scripts/python benchmarks/constant_matrices.py [--only NAME …] [--family NAME …] [--json FILE]

Each matrix is a kernel of two loops with `s.constant_multiply`, pipelined; the whole design, its control
included, is simulated against NumPy and synthesised by Yosys. In the same run da4ml plans the same matrix,
with costs by adder and by bit, and Yosys synthesises its pipelined Verilog; the better of the two is the
peer. Registers lie behind three additions in both. The tagger has the weights of
`../shared/networks/qonnx/jet_tagging_6bit.onnx` where that file stands beside the repository, else random
ones; its inputs have 6 bits in steps of 1/8, and its outputs are the sums before the softmax. Its clock and
its lookup tables are estimates: it is scheduled for one clock, and its cycle is the longest path of the
finished netlist. Its words come by a stream and go by one, and registers outside of both begin and end paths.
da4ml: `pip install 'allo[peers]'`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import allo
from allo.backend.devices import DEFAULT_DEVICE
from allo.backend.synth import synthesize
from allo.customize import Schedule
from allo.ir.types import Int, Stream, UInt, int32
from benchmarks.harness import Row, command_line, finish

ROOT = Path(__file__).resolve().parents[1]
VECTORS = 16
CLOCK_MHZ = 300.0
TAGGER_MHZ = 112.0
ADDERS_BETWEEN_REGISTERS = 3
TRAINED = "shared/networks/qonnx/jet_tagging_6bit.onnx"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Random weights.

    Attributes:
        name: of its row.
        limit: whether its tables have to be at most those of the peer.
        zeros: part of the weights that are zero.
    """

    name: str
    inputs: int
    outputs: int
    low: int
    high: int
    bits: int
    limit: bool = False
    zeros: float = 0.0

    def weights(self) -> np.ndarray:
        """``outputs`` rows of ``inputs`` weights."""
        rng = np.random.default_rng(0)
        found = rng.integers(self.low, self.high, (self.inputs, self.outputs), endpoint=True)
        kept = rng.random(found.shape) >= self.zeros if self.zeros else np.ones(found.shape, bool)
        return np.ascontiguousarray((found * kept).T.astype(np.int32))


MATRICES = (
    Matrix("16x64_6bit", 16, 64, -32, 31, 6, limit=True),
    Matrix("8x24_8bit", 8, 24, -128, 127, 8),
    Matrix("24x8_4bit", 24, 8, -8, 7, 5),
    Matrix("32x32_ternary", 32, 32, -1, 1, 4),
    Matrix("32x16_6bit_sparse", 32, 16, -32, 31, 6, zeros=0.5),
)


def layer(matrix: Matrix) -> Schedule:
    """The kernel of a matrix with its schedule."""
    weights, n, m = matrix.weights(), matrix.inputs, matrix.outputs

    def product(x: Int(matrix.bits)[VECTORS, n], y: int32[VECTORS, m]):  # type: ignore[valid-type]
        w: int32[m, n] = weights
        for t in range(VECTORS):
            for j in range(m):
                total: int32 = 0
                for i in range(n):
                    total += x[t, i] * w[j, i]
                y[t, j] = total

    s = allo.customize(product)
    s.constant_multiply("j")
    s.partition(s.x, dim=2)
    s.partition(s.y, dim=2)
    s.pipeline("t")
    return s


def adders_of(s: Schedule) -> int:
    """Additions and subtractions of a schedule."""
    text = str(s.module)
    return text.count("arith.addi") + text.count("arith.subi")


def simulated(s: Schedule, x: np.ndarray, wanted: np.ndarray, clock: float) -> Any:
    """The hardware, whose every output was compared.

    Raises:
        RuntimeError: an output differs from NumPy.
    """
    hardware = s.build(target="verilog", simulator="jit", device=DEFAULT_DEVICE, clock_mhz=clock)
    found = np.zeros(wanted.shape, np.int32)
    hardware(x, found)
    if not np.array_equal(found, wanted):
        raise RuntimeError(f"{s.top_func_name}: outputs differ from NumPy's")
    if hardware.cycles != hardware.report.cycles:
        raise RuntimeError(f"{s.top_func_name}: {hardware.cycles} cycles, not as predicted")
    return hardware


def peer(matrix: Matrix) -> list[tuple[str, int]]:
    """The Verilog of da4ml for a matrix, planned for adders and for bits, and its adders."""
    try:
        from da4ml.codegen import rtl
        from da4ml.codegen.rtl.verilog import pipeline_logic_gen
        from da4ml.trace import FixedVariableArrayInput, HWConfig, comb_trace
        from da4ml.trace.pipeline import to_pipeline
    except ImportError:
        raise SystemExit("This benchmark needs da4ml: pip install 'allo[peers]'.") from None
    folder = resources.files(rtl) / "verilog" / "source"
    cells = "\n".join((folder / f"{n}.v").read_text() for n in ("shift_adder", "negative"))
    weights = matrix.weights().T.astype(np.float32)
    ones = np.ones(matrix.inputs, int)
    found = []
    for size in (-1, 1):
        inputs = FixedVariableArrayInput(matrix.inputs, HWConfig(size, -1, -1))
        x = inputs.quantize(ones, ones * (matrix.bits - 1), ones * 0)
        plan = comb_trace(inputs, x @ weights)
        pipeline = to_pipeline(plan, ADDERS_BETWEEN_REGISTERS, verbose=False)
        text = "\n".join(pipeline_logic_gen(pipeline, "peer", False, register_layers=1).values())
        found.append((f"{text}\n{cells}", sum(op.opcode in (0, 1) for op in plan.ops)))
    return found


def measure(matrix: Matrix, families: Sequence[str]) -> list[Row]:
    """The rows of a matrix."""
    s = layer(matrix)
    rng = np.random.default_rng(1)
    half = 1 << (matrix.bits - 1)
    x = rng.integers(-half, half, (VECTORS, matrix.inputs)).astype(np.int8)
    hardware = simulated(s, x, x.astype(np.int64) @ matrix.weights().T, CLOCK_MHZ)
    theirs = peer(matrix)
    least = min(count for _, count in theirs)
    key = f"constants.m{matrix.name}"
    rows = [Row(f"{matrix.name}: adders", adders_of(s), "adders", "da4ml", least)]
    for family in families:
        verilog = hardware.verilog
        if family != DEFAULT_DEVICE:
            verilog = s.build(target="verilog", device=family, clock_mhz=100.0).verilog
        ours = synthesize(verilog, "product", family)
        made = [synthesize(text, "peer", family) for text, _ in theirs]
        best = min(made, key=lambda one: one.lut)
        most = max(one.lut for one in made)
        note = f"registers: {ours.ff:,} and {best.ff:,}; da4ml's other plan {most:,} LUT"
        rows.append(
            Row(
                f"{matrix.name}: LUT in Yosys, {family}",
                ours.lut,
                "LUT",
                "da4ml",
                best.lut,
                True if matrix.limit else None,
                note,
                {f"{key}.{family}.lut": ours.lut, f"{key}.{family}.peer_lut": best.lut},
            )
        )
    return rows


# --- the jet tagger -------------------------------------------------------------------------------


def tagger_weights() -> tuple[list[np.ndarray], list[np.ndarray], bool]:
    """Weights and biases of four layers in steps of 1/32, and whether they are the trained ones."""
    for above in ROOT.parents:
        if (above / TRAINED).exists():
            return *_trained(above / TRAINED), True
    rng, sizes = np.random.default_rng(2), (16, 64, 32, 32, 5)
    pairs = list(zip(sizes[1:], sizes[:-1], strict=True))
    weights = [np.clip(rng.normal(0, 8, pair).round(), -32, 31).astype(np.int32) for pair in pairs]
    return weights, [rng.integers(-8, 13, m).astype(np.int32) for m, _ in pairs], False


def _trained(path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    import onnx
    from onnx import numpy_helper

    given = {i.name: numpy_helper.to_array(i) for i in onnx.load(str(path)).graph.initializer}
    layers = [np.clip((given[f"Quant_{k}_param0"] * 32).round(), -32, 31) for k in range(8)]
    whole = [np.ascontiguousarray(part.T.astype(np.int32)) for part in layers]
    return [whole[k] for k in (6, 4, 2, 0)], [whole[k] for k in (7, 5, 3, 1)]


def tagger(weights: Sequence[np.ndarray], biases: Sequence[np.ndarray]) -> Schedule:
    """16-64-32-32-5: 6-bit weights and activations, rounded half to even as QONNX's Quant does.

    Halfway between two numbers the lowest bit of the lower one, half above it, becomes 0; bits above the six
    tell whether a sum is out of their range.
    """
    W1, W2, W3, W4 = weights
    B1 = (biases[0] * 8 + 2).astype(np.int32)  # sums in steps of 1/256, activations of 1/64
    B2, B3 = ((b * 64 + 16).astype(np.int32) for b in biases[1:3])  # 1/2048 and 1/64
    B4 = (biases[3] * 64).astype(np.int32)

    def jet(x: Stream[Int(6)[16], 2], y: Stream[int32[5], 2]):  # type: ignore[valid-type]
        w1: Int(6)[64, 16] = W1
        w2: Int(6)[32, 64] = W2
        w3: Int(6)[32, 32] = W3
        w4: Int(6)[5, 32] = W4
        c1: int32[64] = B1
        c2: int32[32] = B2
        c3: int32[32] = B3
        c4: int32[5] = B4
        for _sample in range(VECTORS):
            v: Int(6)[16] = x.get()
            sums: int32[5]
            h1: UInt(6)[64]
            h2: UInt(6)[32]
            h3: UInt(6)[32]
            for j1 in range(64):
                a: int32 = c1[j1]
                for i1 in range(16):
                    a += v[i1] * w1[j1, i1]
                even: int32 = (a >> 2) & (62 if (a & 3) == 0 else 63)
                h1[j1] = (0 if a < 0 else 63) if (a >> 8) != 0 else even
            for j2 in range(32):
                b: int32 = c2[j2]
                for i2 in range(64):
                    b += h1[i2] * w2[j2, i2]
                even2: int32 = (b >> 5) & (62 if (b & 31) == 0 else 63)
                h2[j2] = (0 if b < 0 else 63) if (b >> 11) != 0 else even2
            for j3 in range(32):
                c: int32 = c3[j3]
                for i3 in range(32):
                    c += h2[i3] * w3[j3, i3]
                even3: int32 = (c >> 5) & (62 if (c & 31) == 0 else 63)
                h3[j3] = (0 if c < 0 else 63) if (c >> 11) != 0 else even3
            for j4 in range(5):
                d: int32 = c4[j4]
                for i4 in range(32):
                    d += h3[i4] * w4[j4, i4]
                sums[j4] = d
            y.put(sums)

    s = allo.customize(jet)
    for k, depth in enumerate((5, 7, 6, 6), 1):
        try:
            s.constant_multiply(f"j{k}", depth=depth)
        except allo.errors.ScheduleError:  # random weights have more digits
            s.constant_multiply(f"j{k}", depth=depth + 1)
    for array in (s.h1, s.h2, s.h3, s.v, s.sums):
        s.partition(array)
    s.pipeline("_sample")
    return s


def tagger_reference(
    x: np.ndarray, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray]
) -> np.ndarray:
    """The outputs in steps of 1/2048, computed in floats as the graph of QONNX says."""
    values = x.astype(np.float64) / 8
    for w, b in zip(weights[:3], biases[:3], strict=True):
        sums = np.maximum(values @ w.T / 32 + b / 32, 0)
        values = np.clip(np.round(sums * 64), 0, 63) / 64
    return np.rint((values @ weights[3].T + biases[3]) * 64).astype(np.int64)


def measure_tagger() -> list[Row]:
    """The rows of the jet tagger."""
    weights, biases, trained = tagger_weights()
    s = tagger(weights, biases)
    x = np.random.default_rng(3).integers(-32, 32, (VECTORS, 16)).astype(np.int8)
    wanted = tagger_reference(x, weights, biases)
    hardware = simulated(s, x, wanted, TAGGER_MHZ)
    report = hardware.report
    loop = report.functions[0].loops[0]
    period = 1000 / report.registered_mhz
    latency, lut = loop.depth * period, report.resources["lut"]
    what = f"jet tagger, {'trained' if trained else 'random'} weights"
    note = (
        f"{loop.depth} cycles of {period:.2f} ns, asked {TAGGER_MHZ:.0f} MHz, from a register outside of the "
        f"input stream to one outside of the output stream; hls4ml: 45 ns and 63,251 LUT by Vivado"
    )
    key = "constants.jet"
    figures = {f"{key}.cycles": loop.depth, f"{key}.mhz": round(1000 / period), f"{key}.lut": lut}
    figures[f"{key}.ns_latency"] = round(latency, 1)
    held = True if trained else None  # random weights have more digits
    return [
        Row(f"{what}: LUT by estimate", lut, "LUT", "goal", 30_000, held, note, figures),
        Row(f"{what}: from input to output", latency, "ns", "goal", 25, held),
        Row(f"{what}: the same", latency, "ns", "hls4ml, published", 45, True),
        Row(f"{what}: interval", loop.ii, "cycles", "goal", 1, True),
    ]


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    names = [m.name for m in MATRICES]
    parser = command_line(__doc__)
    parser.add_argument("--only", nargs="*", choices=[*names, "jet"], default=[*names, "jet"])
    parser.add_argument(
        "--family", nargs="*", default=[DEFAULT_DEVICE], help="devices of the tables"
    )
    given = parser.parse_args()
    rows = [row for m in MATRICES if m.name in given.only for row in measure(m, given.family)]
    if "jet" in given.only:
        rows += measure_tagger()
    return finish("constant_matrices", "Constant matrices", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
