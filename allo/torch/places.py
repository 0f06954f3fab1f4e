"""From PyTorch's stack traces to lines of the model."""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import Any

from allo.dialects.diagnostics import SourcePlace
from allo.models.places import line_place

_FRAME = re.compile(r'File "(?P<file>.+?)", line (?P<line>\d+)')


def place_of_trace(trace: str | None, package: str) -> SourcePlace | None:
    """The innermost line of a stack trace that is not PyTorch's own, else its innermost line."""
    frames = [(found["file"], int(found["line"])) for found in _FRAME.finditer(trace or "")]
    if not frames:
        return None
    own = [frame for frame in frames if not _inside(frame[0], package)]
    return line_place(*(own or frames)[-1])


def place_of_error(error: BaseException, package: str) -> SourcePlace | None:
    """The innermost line of the model that an error of PyTorch passed through."""
    found = None
    for frame in _frames(error.__traceback__):
        file = frame.f_code.co_filename
        inside = _inside(file, package) or _inside(file, str(Path(__file__).parent))
        if not inside and not file.startswith("<"):
            found = (file, frame.f_lineno)
    return line_place(*found) if found else place_of_trace(str(error), package)


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
