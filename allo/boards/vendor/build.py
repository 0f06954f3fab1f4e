"""``mod.bitstream(path)`` for a board of AMD: its project is written, and made where the tools are."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from allo.backend.sim import RTLModule
from allo.dialects.caches.files import publish
from allo.dialects.diagnostics import BoardError, BuildError, ToolFailedError, ToolMissingError
from allo.dialects.processes.tools import run_tool

from ..record import Board
from .project import project

log = logging.getLogger(__name__)
_VIVADO = "vivado -mode batch -source"
_COMMANDS = {
    "": (f"{_VIVADO} build.tcl",),
    "zynq7": (f"{_VIVADO} package.tcl", f"{_VIVADO} block_design.tcl"),
    "zynqmp": (f"{_VIVADO} package.tcl", f"{_VIVADO} block_design.tcl"),
    "alveo": ("sh link.sh",),
}
_SITE = "https://www.xilinx.com/support/download.html"


@dataclass(frozen=True, slots=True)
class VendorBitstream:
    """A bitstream that AMD's tools made.

    Attributes:
        path: where it lies: a ``.bit``, or of a card an ``.xclbin``.
        board: the board it is for.
        project: the folder with its project, reports and programs for the host.
    """

    path: Path
    board: str
    project: Path

    def table(self) -> str:
        """What was made, as text."""
        return f"{self.path}: {self.board}\n  project and reports in {self.project}\n"

    def __str__(self) -> str:
        return self.table()


def bitstream(
    mod: RTLModule,
    path: Path,
    board: Board,
    clock_mhz: float | None,
    timeout: float,
    progress: Callable[[str], None] | None,
) -> VendorBitstream:
    """Write the project of a design beside ``path``, and have AMD's tools make the bitstream.

    Raises:
        BoardError: the board cannot reach the design, or another clock than the build's is asked for.
        ToolMissingError: a tool is not installed; the project is kept, and the message says what to run.
        ToolFailedError: a tool failed; the project is kept with its log.
    """
    if clock_mhz is not None:
        raise BoardError(
            f"The clock of a bitstream for {board.title} is that of the build.",
            help=f"build with clock_mhz={clock_mhz:g}, and leave it out here.",
        )
    folder = project(mod, path.with_name(f"{path.stem}_{board.name}"))
    commands = _COMMANDS[board.platform]
    tools = ("vivado", "v++") if board.platform == "alveo" else ("vivado",)
    missing = next((tool for tool in tools if shutil.which(tool) is None), None)
    if missing is not None:
        raise ToolMissingError(
            f"{missing} is not installed, and only it makes bitstreams for {board.title}; the project is "
            f"kept in {folder}.",
            help=f"install {'Vitis' if missing == 'v++' else 'Vivado'} ({_SITE}), or take the folder to a "
            f"machine that has it, and run there: {' && '.join(commands)}",
        )
    for command in commands:
        run_tool(
            command.split(), folder, what=command, timeout_s=timeout,
            option="bitstream(…, timeout=seconds)", progress=progress or log.info, log=folder / "build.log",
        )  # fmt: skip
    made = next((f for ending in ("*.xclbin", "*.bit") for f in folder.glob(ending)), None)
    if made is None:
        raise ToolFailedError(
            f"{commands[-1]} ended without an error and wrote no bitstream.",
            help=f"see {folder / 'build.log'}.",
        )
    try:
        publish(path, made.read_bytes())
    except OSError as error:
        raise BuildError(
            f"The bitstream cannot be written to {path}: {error.strerror or error}.",
            help=f"it lies in {made}.",
        ) from error
    return VendorBitstream(path, board.name, folder)
