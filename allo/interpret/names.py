"""What a free name of a kernel means: the order of docs/language.md, section Names."""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any


class Absent:
    """The answer where a name means nothing."""


ABSENT = Absent()


def running_frames() -> list[FrameType]:
    """The frames of all callers outside this package, the nearest first."""
    frames = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith("allo.interpret"):
            frames.append(frame)
        frame = frame.f_back
    return frames


class Names:
    """Looks up the free names of one function.

    Args:
        fn: the function, or None where only a text was given.
        frames: the functions that run, nearest first.
        given: the names of ``global_vars``, which take the place of everything else.
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None,
        frames: list[FrameType],
        given: Mapping[str, Any] | None,
    ) -> None:
        self._given = given
        self._frames = frames
        self._closure: Mapping[str, Any] = {}
        self._module: Mapping[str, Any] = {}
        self._enclosing: list[FrameType] = []
        if fn is not None:
            plain = inspect.unwrap(fn)
            self._closure = _closure_of(plain)
            self._module = getattr(plain, "__globals__", {})
            self._enclosing = _written_in(plain, frames)

    def find(self, name: str) -> Any:
        """The value of a name, or ``ABSENT``."""
        if self._given is not None:
            if name in self._given:
                return self._given[name]
            return vars(builtins).get(name, ABSENT)
        if name in self._closure:
            return self._closure[name]
        for frame in self._enclosing:
            if name in frame.f_locals:
                return frame.f_locals[name]
        if name in self._module:
            return self._module[name]
        for frame in self._frames:
            if name in frame.f_locals:
                return frame.f_locals[name]
            if name in frame.f_globals:
                return frame.f_globals[name]
        return vars(builtins).get(name, ABSENT)


def _closure_of(fn: Any) -> dict[str, Any]:
    code: CodeType | None = getattr(fn, "__code__", None)
    cells = getattr(fn, "__closure__", None)
    if code is None or not cells:
        return {}
    values = {}
    for name, cell in zip(code.co_freevars, cells, strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return values


def _written_in(fn: Any, frames: list[FrameType]) -> list[FrameType]:
    """The running functions that a function is written in, the innermost first."""
    parts = getattr(fn, "__qualname__", "").split(".<locals>.")[:-1]
    outer = {".<locals>.".join(parts[: n + 1]) for n in range(len(parts))}
    file = getattr(getattr(fn, "__code__", None), "co_filename", None)
    return [
        frame
        for frame in frames
        if frame.f_code.co_qualname in outer and frame.f_code.co_filename == file
    ]
