"""How often something was used on this machine: what costs more than one use of it saves waits for that.

A precompiled header is such a thing. The count is the size of a file of the cache. Where the cache
cannot be written, it is that of this process; where the file is lost, counting begins again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .place import base_folder, spare_folder

ENOUGH = 3
"""A precompiled header costs what it saves in three or four compilations: it is made for the fourth."""


def is_worth_it(kind: Sequence[str], key: str) -> bool:
    """Whether :func:`note_use` was called for an entry as often as makes it worth its cost."""
    return any(_uses(folder, kind, key) >= ENOUGH for folder in (base_folder(), spare_folder()))


def note_use(kind: Sequence[str], key: str) -> None:
    """Count a use that the entry would have made cheaper; beyond what is enough nothing is written."""
    for folder in (base_folder(), spare_folder()):
        if folder is None:
            continue
        if _uses(folder, kind, key) >= ENOUGH:
            return
        try:
            path = _path(folder, kind, key)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(b".")
        except OSError:
            continue
        return


def _uses(folder: Path | None, kind: Sequence[str], key: str) -> int:
    try:
        return _path(folder, kind, key).stat().st_size if folder else 0
    except OSError:
        return 0


def _path(folder: Path, kind: Sequence[str], key: str) -> Path:
    return folder.joinpath(*kind, f"{key}.uses")
