"""What stands beside a waveform: a viewer layout and the map back to Python source."""

from __future__ import annotations

import json
from pathlib import Path

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.interfaces.board import LITE, Board
from allo.dialects.caches.files import publish
from allo.dialects.diagnostics import SimulationError

from ..driver.ports import Port, top_ports
from .source_map import source_map

KINDS = {".vcd": "vcd", ".fst": "fst"}


def wave_kind(path: Path) -> str:
    """The kind of waveform a file name asks for.

    Raises:
        SimulationError: when the suffix is neither ``.vcd`` nor ``.fst``, or the folder is absent.
    """
    kind = KINDS.get(path.suffix)
    if kind is None:
        raise SimulationError(
            f"{path.name} names no kind of waveform.",
            help='wave= takes a file that ends in ".vcd" or ".fst".',
        )
    if not path.absolute().parent.is_dir():
        raise SimulationError(
            f"The folder of the waveform, {path.parent}, does not exist.", help="make it first."
        )
    return kind


def _unwritable(path: Path, reason: str) -> SimulationError:
    return SimulationError(
        f"The waveform {path} cannot be written: {reason}.",
        help="name a file in a folder that can be written.",
    )


def check_writable(path: Path) -> None:
    """The file must be one that can be written: the model itself would write nothing, in silence.

    Raises:
        SimulationError: otherwise.
    """
    try:
        with open(path, "ab"):
            pass
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error


def write_companions(path: Path, design: HardwareDesign) -> None:
    """Write ``<wave>.gtkw`` and, where the design knows it, ``<wave>.map.json``."""
    try:
        publish(path.with_suffix(".gtkw"), layout_text(path, design))
        if known := source_map(design):
            publish(path.with_suffix(".map.json"), json.dumps(known, indent=1))
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error


def layout_text(path: Path, design: HardwareDesign) -> str:
    """A GTKWave save file: control, scalars, then a group for each array and stream."""
    ports = {port.name: port for port in top_ports(design)}
    lines = [f'[dumpfile] "{path.absolute()}"', "[timestart] 0", f"[treeopen] TOP.{design.top}."]
    if design.board is not None:
        for name, members in _buses(design.board, list(ports.values())).items():
            lines += _group(name, members, design)
        return "\n".join(lines) + "\n"
    lines += _group("control", [ports[n] for n in ("clk", "rst", "start", "done")], design)
    scalars = [ports[s.name] for s in (*design.scalars_in, *design.scalars_out)]
    if scalars:
        lines += _group("scalars", scalars, design)
    prefixes = {a.name: [p.prefix for p in a.ports] for a in design.arrays}
    prefixes |= {s.name: [s.name] for s in design.streams}
    for name, starts in prefixes.items():
        wanted = [f"{start}_" for start in starts]
        members = [p for p in ports.values() if p.name.rsplit("_", 1)[0] + "_" in wanted]
        lines += _group(name, members, design)
    return "\n".join(lines) + "\n"


def _buses(board: Board, ports: list[Port]) -> dict[str, list[Port]]:
    """The ports of a wrapper by bus; "control" has those that belong to none."""
    prefixes = [LITE, *(m.prefix for m in board.masters), *(s.name for s in board.streams)]
    groups: dict[str, list[Port]] = {"control": []}
    for port in ports:
        owner = next((p for p in prefixes if port.name.startswith(f"{p}_")), "control")
        groups.setdefault(owner, []).append(port)
    return groups


def _group(name: str, ports: list[Port], design: HardwareDesign) -> list[str]:
    signals = [
        f"TOP.{design.top}.{port.name}" + (f"[{port.width - 1}:0]" if port.width > 1 else "")
        for port in ports
    ]
    return ["@800200", f"-{name}", "@22", *signals, "@1000200", f"-{name}"]
