"""The cache on disk: entries named by their content, checked before use, made in one piece.

An entry is a folder (:func:`cached`) or a text (:func:`cached_text`). It never goes stale, because its name
is a digest of what it is made from (:func:`content_key`); and it is never half there, because it is made
beside its place and renamed. Before use its files are held against digests kept with them: what is
truncated, foreign or from before digests is made again. Where the cache cannot be written, entries are made
in a temporary folder of this process, and one warning says so.

Example::

    folder = cached(("runtime",), content_key(source), ["lib.so"], make)   # make(folder) writes lib.so
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..diagnostics import CacheError, ToolFailedError
from .place import base_folder, spare_folder, warn_unwritable

log = logging.getLogger(__name__)
MANIFEST = ".digests.json"
_SAMPLED_ABOVE = 8 << 20
_SAMPLE, _STRIDE = 64 << 10, 1 << 20
_TRIES = 5
_FULL = ("No space left on device", "Disk quota exceeded", "Read-only file system")


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


# --- folders -------------------------------------------------------------------------


def cached(
    kind: Sequence[str],
    key: str,
    files: Sequence[str],
    make: Callable[[Path], None],
    *,
    bulky: Sequence[str] = (),
) -> Path:
    """The folder of an entry, whose files are whole: from the cache, or made now.

    Args:
        kind: folders of the cache it lies in.
        key: its name, from :func:`content_key`.
        files: what it holds, by names inside the folder.
        make: writes the files into the folder it is given; run again elsewhere when that is full.
        bulky: further files, which only a compiler reads: of large ones samples are checked.

    Raises:
        ToolFailedError: from ``make``, or it left a file out.
        CacheError: there is nowhere to write, or a tool finds no room in TMPDIR.
    """
    wanted = {**dict.fromkeys(files, False), **dict.fromkeys(bulky, True)}
    folder = _whole_one(kind, key, wanted)
    if folder is None:
        with _turn((*kind, key), os.getpid()):
            folder = _whole_one(kind, key, wanted) or _made(kind, key, wanted, make)
    return folder


@functools.lru_cache(maxsize=256)
def _turn(entry: tuple[str, ...], process: int) -> threading.RLock:
    """Threads of a process that want one entry wait for the first to make it; a fork has its own locks."""
    del entry, process
    return threading.RLock()


def _whole_one(kind: Sequence[str], key: str, wanted: Mapping[str, bool]) -> Path | None:
    """The folder of an entry that is there and whole."""
    for place in (base_folder(), spare_folder()):
        if place and _is_whole(place.joinpath(*kind, key), wanted):
            return place.joinpath(*kind, key)
    return None


def _made(
    kind: Sequence[str], key: str, wanted: Mapping[str, bool], make: Callable[[Path], None]
) -> Path:
    """Make an entry, in the cache or else in the temporary folder."""
    base = base_folder()
    if base:
        try:
            return _make(base.joinpath(*kind, key), wanted, make)
        except _Unwritable as failed:
            warn_unwritable(base, failed.reason)
    spare = spare_folder(make=True)
    try:
        return _make(spare.joinpath(*kind, key), wanted, make)
    except _Unwritable as failed:
        raise CacheError(
            f"There is nowhere to build: {spare} cannot be written: {failed.reason}.",
            help="free some space, or name other folders in ALLO_CACHE_DIR and TMPDIR.",
        ) from failed.cause


class _Unwritable(Exception):
    """A folder cannot be written."""

    def __init__(self, cause: Exception, reason: str) -> None:
        self.cause = cause
        self.reason = reason
        super().__init__(reason)


def _make(folder: Path, wanted: Mapping[str, bool], make: Callable[[Path], None]) -> Path:
    """Make the files beside ``folder``, which appears when all are there."""
    temporary: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        make(temporary)
        digests = {name: _made_digest(temporary, name, bulky) for name, bulky in wanted.items()}
        (temporary / MANIFEST).write_text(json.dumps(digests, indent=1))
        os.chmod(temporary, 0o755)
        _move(temporary, folder, wanted)
    except OSError as error:
        raise _Unwritable(error, error.strerror or str(error)) from error
    except ToolFailedError as error:
        full = next(((w, str(note)) for w in _FULL for note in error.notes if w in str(note)), None)
        if full is None:
            raise
        _refuse_full_temporary(folder, *full, error)
        raise _Unwritable(error, full[0]) from error
    finally:
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _refuse_full_temporary(folder: Path, reason: str, said: str, error: Exception) -> None:
    """A tool that could not write in TMPDIR says nothing of the cache, nor would another folder help."""
    temporary = tempfile.gettempdir()
    if temporary in said and not folder.is_relative_to(temporary):
        raise CacheError(
            f"A compiler could not write its temporary files to {temporary}: {reason}.",
            help="free some space there, or name another folder in TMPDIR.",
        ) from error


def _made_digest(folder: Path, name: str, sampled: bool) -> str:
    path = folder / name
    if not path.is_file() or not path.stat().st_size:
        raise ToolFailedError(
            f"A compiler ended well and wrote no {name}.",
            help="see whether the program that CXX or PATH names is the compiler you mean.",
        )
    return _digest(path, sampled)


def _move(made: Path, folder: Path, wanted: Mapping[str, bool]) -> None:
    """Rename ``made`` to ``folder``; a whole one that is there stays, anything else makes room."""
    for attempt in range(_TRIES):
        try:
            os.rename(made, folder)
            return
        except OSError:
            if _is_whole(folder, wanted):
                return
            if attempt + 1 == _TRIES or not os.path.lexists(folder):
                raise
        log.warning("The cache entry %s is not whole: it is made anew.", folder)
        aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        with contextlib.suppress(OSError):
            os.rename(folder, aside / "old")
        shutil.rmtree(aside, ignore_errors=True)


def _is_whole(folder: Path, wanted: Mapping[str, bool]) -> bool:
    """Whether a folder holds its files as they were made."""
    try:
        kept = json.loads((folder / MANIFEST).read_bytes())
        return all(kept[name] == _digest(folder / name, bulky) for name, bulky in wanted.items())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _digest(path: Path, sampled: bool) -> str:
    about = path.stat()
    stamp = (about.st_mtime_ns, about.st_size, about.st_ino)
    return _read_digest(str(path), stamp, sampled and about.st_size > _SAMPLED_ABOVE)


@functools.lru_cache(maxsize=256)
def _read_digest(path: str, stamp: tuple[int, int, int], sampled: bool) -> str:
    """The digest of a file; remembered as long as the file is not changed."""
    with open(path, "rb") as file:
        if not sampled:
            return hashlib.file_digest(file, "sha256").hexdigest()
        size = stamp[1]
        digest = hashlib.sha256(str(size).encode())
        for start in (*range(0, size, _STRIDE), max(0, size - _SAMPLE)):
            file.seek(start)
            digest.update(file.read(_SAMPLE))
        return digest.hexdigest()


# --- texts ---------------------------------------------------------------------------


def cached_text(kind: Sequence[str], name: str, make: Callable[[], str]) -> str:
    """A text of the cache, or made now; where the cache cannot be written it is not kept."""
    base = base_folder()
    path = base.joinpath(*kind, name) if base else None
    kept = _read_text(path) if path else None
    if kept is not None:
        return kept
    text = make()
    if base and path:
        try:
            publish(path, f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}")
        except OSError as error:
            warn_unwritable(base, error.strerror or str(error))
    return text


def _read_text(path: Path) -> str | None:
    """The text a file holds, or None where it is not there as it was written."""
    try:
        digest, _, text = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if digest.decode(errors="replace") == hashlib.sha256(text).hexdigest():
        return text.decode()
    log.warning("The cache entry %s is not whole: it is made anew.", path)
    return None


def publish(target: Path, data: bytes | str) -> Path:
    """Write a file in one piece: a reader sees the old content or the new, never a part.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}."[:64])
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_bytes_of(data))
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target
