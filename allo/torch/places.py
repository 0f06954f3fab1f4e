"""From PyTorch's stack traces to lines of the model."""

from __future__ import annotations

import linecache
import re
import sys
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from allo.dialects.diagnostics import SourcePlace

_OWN = ("allo.torch", "allo.schedule", "allo.dialects", "contextlib")

_FRAME = re.compile(r'File "(?P<file>.+?)", line (?P<line>\d+)')


def place_of_trace(trace: str | None, package: str) -> SourcePlace | None:
    """The innermost line of a stack trace that is not PyTorch's own, else its innermost line."""
    frames = [(found["file"], int(found["line"])) for found in _FRAME.finditer(trace or "")]
    if not frames:
        return None
    own = [frame for frame in frames if not _inside(frame[0], package)]
    return _place(*(own or frames)[-1])


def place_of_error(error: BaseException, package: str) -> SourcePlace | None:
    """The innermost line of the model that an error of PyTorch passed through."""
    found = None
    for frame in _frames(error.__traceback__):
        file = frame.f_code.co_filename
        inside = _inside(file, package) or _inside(file, str(Path(__file__).parent))
        if not inside and not file.startswith("<"):
            found = (file, frame.f_lineno)
    return _place(*found) if found else place_of_trace(str(error), package)


def place_of_caller() -> SourcePlace | None:
    """The user's line that called a method of a schedule."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_OWN):
        frame = frame.f_back
    return None if frame is None else _place(frame.f_code.co_filename, frame.f_lineno)


def module_of_error(error: BaseException, module_class: type) -> Any:
    """The innermost module whose ``forward`` an error passed through, or None."""
    found = None
    for frame in _frames(error.__traceback__):
        owner = frame.f_locals.get("self")
        if isinstance(owner, module_class) and frame.f_code.co_name == "forward":
            found = owner
    return found


def _frames(trace: TracebackType | None) -> Any:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _inside(file: str, folder: str) -> bool:
    return file.startswith(folder.rstrip("/") + "/")


def _place(file: str, line: int) -> SourcePlace:
    text = linecache.getline(file, line).rstrip("\n")
    start = len(text) - len(text.lstrip()) + 1
    return SourcePlace(file, line, start, line, max(len(text) + 1, start + 1))
