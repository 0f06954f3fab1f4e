"""The C++ compiler of this machine: the runtime and external kernels are built with it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from allo.dialects.diagnostics import ToolFailedError, ToolMissingError

_SECONDS = 120


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
    try:
        done = subprocess.run(full, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise ToolFailedError(f"{command[0]} did not finish {what} in {_SECONDS} s.") from None
    if done.returncode:
        raise ToolFailedError(
            f"{command[0]} could not compile {what}.",
            notes=tuple(done.stderr.splitlines()[-10:]),
        )
