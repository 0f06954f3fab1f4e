"""A jet tagger as a network of lookup tables: a sample in each cycle, and the tables beside Yosys.

scripts/python benchmarks/lut_networks.py [--clock MHZ] [--samples N] [--json FILE]

The student of `designs/quantised/jets.py`, whose neurons are tables (`s.tabulate`), takes a sample of 16
features of 6 bits from a stream in every cycle, and gives five sums. Every sum of hardware in simulation is
compared with the network in NumPy, in floats. Where the teacher,
`jet_tagging_6bit.onnx` of QONNX's model zoo, stands beside the repository, the share of other draws is
measured on which both give the same class; a linear model that least squares fit to the teacher's draws is
the peer. Accuracy on jets cannot be measured, since the data are not here. Clock and tables are
estimates; the period is the longest path of the finished netlist, from a register in front of the input
stream to one behind the output stream. Tables in Yosys are those of the whole design, once with each table as
a cell of the device and once as a text. Random functions are held against Yosys likewise. TreeLUT's published
2.7 ns and 2,234 LUT at 76 % are Vivado's, of trees trained on the jets themselves. The teacher's file is also
imported as it is, with its weights in the logic (`weights="embedded"`), samples in a memory.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

import allo
from allo.backend.devices import DEFAULT_DEVICE
from allo.backend.synth import synthesize
from allo.designs.quantised import jets
from allo.frontend import from_qonnx
from allo.ir.types import Int, UInt
from benchmarks.device import longest
from benchmarks.harness import ROOT, Row, command_line, finish

CLOCK_MHZ = 150.0
INSTANCE = re.compile(
    r"allo_table_6 #\(\.WORDS\((\S+)\)\) \w+ \(\.a\((.*?)\), \.y\((\w+)\)\);", re.DOTALL
)
FUNCTIONS, SIZES = 8, (6, 8, 10)
"""Random functions, and the bits that each reads."""
IMPORTED_MHZ = 112.0
TEACHER = "shared/networks/qonnx/jet_tagging_6bit.onnx"


def teacher_file() -> Path | None:
    """The teacher, where it stands beside the repository."""
    return next((p / TEACHER for p in ROOT.parents if (p / TEACHER).exists()), None)


def inputs(count: int) -> np.ndarray:
    """Samples of all kinds: random ones, and the ends of each feature."""
    rng = np.random.default_rng(7)
    found = np.clip(np.round(rng.normal(0, 10, (count, jets.FEATURES))), -32, 31)
    found[0], found[1] = -32, 31
    return found.astype(np.int8)


def agreement(net: Any) -> list[Row]:
    """How often the student and a linear model have the teacher's class; no row without the teacher."""
    file = teacher_file()
    if file is None:
        return []
    teacher = jets.Teacher.read(file)
    levels, classes = jets.draws(teacher, 20_000, 2)
    learned, labels = jets.draws(teacher, 50_000, 3)
    wide = np.c_[learned * jets.STEP, np.ones(len(learned))]
    fit = np.linalg.lstsq(wide, np.eye(jets.CLASSES)[labels], rcond=None)[0]
    linear = float(
        ((np.c_[levels * jets.STEP, np.ones(len(levels))] @ fit).argmax(1) == classes).mean()
    )
    share = float((net.classes(jets.as_floats(levels)) == classes).mean())
    figures = {"tables.jet.share": round(share, 3), "tables.jet.linear.share": round(linear, 3)}
    what = "jet tagger of tables: the teacher's class, 20,000 draws"
    return [Row(what, share, "share", "linear model", linear, False, figures=figures)]


def measure(clock: float, samples: int) -> list[Row]:
    """The rows of the tagger.

    Raises:
        RuntimeError: an output or a cycle differs.
    """
    net = jets.student()
    x = inputs(samples)
    wanted = np.rint(net.forward(jets.as_floats(x))[2] / net.shapes[-1].unit)
    s = jets.schedule(net, samples)
    hardware = s.build(target="verilog", simulator="jit", device=DEFAULT_DEVICE, clock_mhz=clock)
    found = np.zeros((samples, jets.CLASSES), np.int8)
    hardware(x.copy(), found)
    if not np.array_equal(found, wanted):
        raise RuntimeError("The tagger of tables: outputs differ from NumPy's.")
    report = hardware.report
    if hardware.cycles != report.cycles:
        raise RuntimeError("The tagger of tables: cycles are not as foretold.")
    loop = report.functions[0].loops[0]
    again = s.build(target="verilog", device=DEFAULT_DEVICE, clock_mhz=clock)
    if again.design.netlist is None or again.verilog != hardware.verilog:
        raise RuntimeError("The tagger's netlist is not that of the hardware simulated.")
    period = longest(again, again.design.netlist, DEFAULT_DEVICE).delay_ns
    made = synthesize(hardware.verilog, "tagger", DEFAULT_DEVICE)
    plain = synthesize(told_plainly(hardware.verilog), "tagger", DEFAULT_DEVICE)
    lut, latency = report.resources["lut"], loop.depth * period
    note = (
        f"{loop.depth} cycle of {period:.2f} ns; {report.resources['ff']} registers; "
        f"{samples} samples simulated; TreeLUT's are Vivado's"
    )
    key = "tables.jet"
    figures = {
        f"{key}.lut": lut,
        f"{key}.ns_latency": round(latency, 1),
        f"{key}.ff": report.resources["ff"],
    }
    figures |= {f"{key}.yosys.lut": made.lut, f"{key}.plain.lut": plain.lut}
    figures[f"{key}.interval"] = loop.ii
    what = "jet tagger of tables"
    return [
        Row(f"{what}: from input to output", latency, "ns", "goal", 5, True, note, figures),
        Row(f"{what}: the same", latency, "ns", "TreeLUT, published", 2.7),
        Row(f"{what}: LUT by estimate", lut, "LUT", "goal", 5_000, True),
        Row(f"{what}: the same", lut, "LUT", "TreeLUT, published", 2_234),
        Row(f"{what}: LUT by estimate", lut, "LUT", "Yosys", made.lut),
        Row(f"{what}: LUT in Yosys", made.lut, "LUT", "tables as texts", plain.lut, True),
        Row(f"{what}: interval", loop.ii, "cycles", "goal", 1, True),
        *agreement(net),
    ]


def told_plainly(verilog: str) -> str:
    """The text in which a table is the word that is chosen, for synthesis too."""
    return INSTANCE.sub(r"wire [63:0] \3_words = \1; assign \3 = \3_words[\2];", verilog)


def random_tables(inputs: int) -> list[Row]:
    """Rows of eight random functions of so many bits, whose estimate and tables are held against Yosys.

    Raises:
        RuntimeError: an output differs from the functions' values.
    """
    rng = np.random.default_rng(inputs)
    values = rng.integers(0, 2, (FUNCTIONS, 1 << inputs)).astype(np.uint8)

    def functions(x: UInt(inputs)[FUNCTIONS, FUNCTIONS], y: UInt(1)[FUNCTIONS, FUNCTIONS]):  # type: ignore[valid-type]
        held: UInt(1)[FUNCTIONS, 1 << inputs] = values
        for t in range(FUNCTIONS):
            for j in range(FUNCTIONS):
                y[t, j] = held[j, x[t, j]]

    s = allo.customize(functions)
    s.tabulate("j")
    s.partition(s.x, dim=2)
    s.partition(s.y, dim=2)
    s.pipeline("t")
    hardware = s.build(target="verilog", simulator="jit", device=DEFAULT_DEVICE, clock_mhz=100.0)
    x = rng.integers(0, 1 << inputs, (FUNCTIONS, FUNCTIONS)).astype(
        np.uint16 if inputs > 8 else np.uint8
    )
    found = np.zeros((FUNCTIONS, FUNCTIONS), np.uint8)
    hardware(x, found)
    if not np.array_equal(found, values[np.arange(FUNCTIONS), x]):
        raise RuntimeError(f"Random tables of {inputs} bits: outputs differ.")
    lut = hardware.report.resources["lut"]
    texts = hardware.verilog, told_plainly(hardware.verilog)
    made, plain = (synthesize(text, "functions", DEFAULT_DEVICE).lut for text in texts)
    key, what = f"tables.random{inputs}", f"{FUNCTIONS} random tables of {inputs} bits"
    figures = {f"{key}.lut": lut, f"{key}.yosys.lut": made, f"{key}.plain.lut": plain}
    off, note = abs(lut / made - 1), f"{lut} LUT by estimate, {made} in Yosys"
    return [
        Row(f"{what}: what the estimate is off", off, "", "limit", 0.1, True, note, figures),
        Row(f"{what}: LUT in Yosys", made, "LUT", "tables as texts", plain),
    ]


def imported(clock: float, samples: int) -> list[Row]:
    """The teacher's file as it is, weights in the logic; no rows where it is not there.

    Raises:
        RuntimeError: an output differs from the graph in floats.
    """
    file = teacher_file()
    if file is None:
        return []
    x = inputs(samples)
    s = from_qonnx(
        file, input_type=(Int(6), jets.STEP), weights="embedded", results="integers", samples=samples,
        target="mlir",
    )  # fmt: skip
    hardware = s.build(target="verilog", simulator="jit", device=DEFAULT_DEVICE, clock_mhz=clock)
    wanted = np.rint(jets.Teacher.read(file).scores(x * jets.STEP) * 2048)
    if not np.array_equal(hardware(x[:, None])[:, 0], wanted):
        raise RuntimeError("The imported tagger: outputs differ from the graph's.")
    loop, lut = hardware.report.functions[0].loops[0], hardware.report.resources["lut"]
    again = s.build(target="verilog", device=DEFAULT_DEVICE, clock_mhz=clock)
    period = longest(again, again.design.netlist, DEFAULT_DEVICE).delay_ns
    key = "tables.imported"
    figures = {f"{key}.lut": lut, f"{key}.ns_latency": round(loop.depth * period, 1)}
    figures |= {f"{key}.cycles": loop.depth, f"{key}.interval": loop.ii}
    note = (
        f"{loop.depth} cycles of {period:.2f} ns, one for the address of the memory in front; {samples} "
        "samples simulated; hls4ml's published are 45 ns and 63,251 LUT"
    )
    what = "jet tagger of 6 bits, imported"
    return [
        Row(
            f"{what}: LUT by estimate", lut, "LUT", "hls4ml, published", 63_251, True, note, figures
        ),
        Row(f"{what}: latency", loop.depth * period, "ns", "hls4ml, published", 45, True),
        Row(f"{what}: interval", loop.ii, "cycles", "goal", 1, True),
    ]


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--clock", type=float, default=CLOCK_MHZ)
    parser.add_argument("--imported-clock", type=float, default=IMPORTED_MHZ)
    parser.add_argument("--samples", type=int, default=256)
    given = parser.parse_args()
    rows = [*measure(given.clock, given.samples), *imported(given.imported_clock, given.samples)]
    rows += [row for inputs in SIZES for row in random_tables(inputs)]
    return finish("lut_networks", "Networks of lookup tables", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
