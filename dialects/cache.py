"""The cache on disk: where it lies, and how something is put into it in one piece.

What lies in the cache is named by its content (:func:`content_key`), so it never goes stale.
A reader sees a whole file or folder or none: writers build beside the final name
and rename, and of two writers of one name the first wins.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def cache_dir(*parts: str) -> Path:
    """The cache folder, or a folder in it; made when absent.

    It is ``$ALLO_CACHE_DIR``, else ``$XDG_CACHE_HOME/allo``, else ``~/.cache/allo``.
    """
    chosen = os.environ.get("ALLO_CACHE_DIR")
    base = Path(chosen).expanduser() if chosen else _default_root()
    folder = base.joinpath(*parts).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _default_root() -> Path:
    shared = os.environ.get("XDG_CACHE_HOME")
    return Path(shared) / "allo" if shared else Path.home() / ".cache" / "allo"


def content_key(*parts: str | bytes | Path) -> str:
    """A name (32 hex digits) for what is made from ``parts``; a path stands for its file's bytes."""
    digest = hashlib.sha256()
    for part in parts:
        data = _bytes_of(part)
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def _bytes_of(part: str | bytes | Path) -> bytes:
    if isinstance(part, Path):
        return part.read_bytes()
    return part.encode() if isinstance(part, str) else part


def publish(target: Path, data: bytes | str) -> Path:
    """Write a file in one piece: a reader sees the old content or the new, never a part."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_bytes_of(data))
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


@contextlib.contextmanager
def publishing(target: Path) -> Iterator[Path]:
    """A temporary folder to build in, which becomes ``target`` when the block ends well.

    Nothing is left when the block raises. When another process published
    ``target`` meanwhile, that one stays: equal names mean equal content.

    Example::

        target = cache_dir("runtime") / content_key(source)
        if not target.exists():
            with publishing(target) as folder:
                build_in(folder)
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield temporary
        os.chmod(temporary, 0o755)
        with contextlib.suppress(OSError):
            os.rename(temporary, target)
        if not target.is_dir():
            raise FileExistsError(f"{target} is not a folder: the cache cannot be written.")
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
