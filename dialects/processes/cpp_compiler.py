"""The C++ compiler of this machine: the runtime and external kernels are built with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from ..diagnostics import ToolMissingError
from .tools import run_tool

SECONDS = 120


def find_compiler(purpose: str) -> str:
    """The path of ``$CXX``, ``g++``, ``clang++`` or ``c++``, the first there is.

    Raises:
        ToolMissingError: when there is none; the message says what for.
    """
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise ToolMissingError(
        f"There is no C++ compiler, which is needed to build {purpose}.",
        help="install g++ (apt install g++), or set CXX to a C++17 compiler.",
    )


def compile_shared(
    command: Sequence[str], sources: Sequence[Path], output: Path, what: str
) -> None:
    """Compile ``sources`` into a shared library.

    Args:
        command: the compiler and its options.
        what: what is compiled, for the message.

    Raises:
        ToolFailedError: when the compiler fails or takes more than two minutes.
    """
    full = [*command, "-o", str(output), *map(str, sources)]
    run_tool(full, None, what=f"Compiling {what}", timeout_s=SECONDS, option="a quicker compiler")
