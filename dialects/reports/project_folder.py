"""Writing a project: a folder whose files appear all together or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..diagnostics import BuildError


def write_folder(
    folder: Path, files: Mapping[str, str], *, merge: bool, programs: Iterable[str] = ()
) -> None:
    """Write the files of a project.

    They are written beside their place first, then moved; whatever fails, an existing folder stays
    as it was.

    Args:
        files: text by name.
        merge: keep other files that lie in an existing folder; otherwise it is replaced.
        programs: names of files that can be run.

    Raises:
        BuildError: the folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(None, "it is a file")
        new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."[:64]))
        try:
            for name, text in files.items():
                (new / name).write_text(text)
            for name in programs:
                (new / name).chmod(0o755)
            new.chmod(0o755)
            _move(new, folder, files, merge)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise BuildError(
            f"The project folder {folder} cannot be written: {error.strerror or error}.",
            help="give another project=…, or free the folder.",
        ) from error


def _move(new: Path, folder: Path, files: Iterable[str], merge: bool) -> None:
    if not folder.exists():
        os.rename(new, folder)
        return
    old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."[:64]))
    pairs = [(new / name, folder / name, old / name) for name in files]
    if not merge:
        pairs = [(new, folder, old / "old")]
    try:
        _exchange(pairs, merge)
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _exchange(pairs: Iterable[tuple[Path, Path, Path]], merge: bool) -> None:
    """Move each source to its place and what was there aside; a failure puts everything back."""
    undo: list[tuple[Path, Path]] = []
    try:
        for source, place, aside in pairs:
            if merge and place.is_dir():
                raise IsADirectoryError(None, f"{place.name} is a folder there")
            if os.path.lexists(place):
                os.rename(place, aside)
                undo.append((aside, place))
            os.rename(source, place)
            undo.append((place, source))
    except OSError:
        for moved, origin in reversed(undo):
            os.rename(moved, origin)
        raise
