"""The user's line that called a method of a schedule."""

from __future__ import annotations

import linecache
import sys
from types import FrameType

from allo.dialects.diagnostics import SourcePlace

_OWN = (
    "allo.models",
    "allo.qonnx",
    "allo.tflite",
    "allo.torch",
    "allo.schedule",
    "allo.dialects",
    "contextlib",
)


def place_of_caller() -> SourcePlace | None:
    """The innermost line on the stack that is not Allo's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_OWN):
        frame = frame.f_back
    return None if frame is None else line_place(frame.f_code.co_filename, frame.f_lineno)


def line_place(file: str, line: int) -> SourcePlace:
    """A whole line of a file, without its indentation."""
    text = linecache.getline(file, line).rstrip("\n")
    start = len(text) - len(text.lstrip()) + 1
    return SourcePlace(file, line, start, line, max(len(text) + 1, start + 1))
