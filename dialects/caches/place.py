"""Where the cache lies, and what takes its place where it cannot be written."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
import warnings
import weakref
from pathlib import Path
from typing import Literal, overload

from ..diagnostics import CacheError, CacheWarning

_INSIDE = (str(Path(__file__).parents[2]),)
"""Files of Allo: a warning stands at the user's line."""


def base_folder() -> Path | None:
    """The cache folder: ``$ALLO_CACHE_DIR``, ``$XDG_CACHE_HOME/allo`` or ``~/.cache/allo``.

    It need not exist. None where no home folder is known.
    """
    chosen = os.environ.get("ALLO_CACHE_DIR")
    shared = os.environ.get("XDG_CACHE_HOME")
    named = chosen or (f"{shared}/allo" if shared else "~/.cache/allo")
    folder = os.path.expanduser(named)
    if folder.startswith("~"):
        warn_unwritable(Path(folder), "no home folder is known")
        return None
    return Path(folder).absolute()


@overload
def spare_folder(make: Literal[True]) -> Path: ...
@overload
def spare_folder(make: bool = False) -> Path | None: ...
def spare_folder(make: bool = False) -> Path | None:
    """This process's temporary folder for entries the cache cannot take; removed at its end.

    Args:
        make: make it where it is not there.

    Raises:
        CacheError: it cannot be made.
    """
    spare = _spare(os.getpid())
    if make and spare.folder is None:
        try:
            spare.open()
        except OSError as error:
            raise CacheError(
                "There is nowhere to build: neither the cache folder nor a temporary folder can be "
                f"written: {error.strerror or error}.",
                help="name folders that can be written in ALLO_CACHE_DIR and TMPDIR.",
            ) from error
    return spare.folder


class _Spare:
    """The temporary folder of one process."""

    def __init__(self, process: int) -> None:
        self.folder: Path | None = None
        self._process = process

    def open(self) -> None:
        """Make the folder, to be removed when this process ends; raises OSError if it cannot be."""
        self.folder = Path(tempfile.mkdtemp(prefix="allo_cache_"))
        weakref.finalize(self, _remove, self.folder, self._process)


def _remove(folder: Path, process: int) -> None:
    """Remove the folder, unless this is a fork of the process it belongs to."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _spare(process: int) -> _Spare:
    return _Spare(process)


@functools.cache
def warn_unwritable(folder: Path, reason: str) -> None:
    """Say once a process that the cache cannot be written."""
    warnings.warn(
        f"The cache folder {folder} cannot be written ({reason}): what is compiled is kept in a "
        "temporary folder and compiled again by the next process. Name a folder that can be "
        "written in the environment variable ALLO_CACHE_DIR.",
        CacheWarning,
        skip_file_prefixes=_INSIDE,
    )
