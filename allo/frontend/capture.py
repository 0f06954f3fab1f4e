"""What a free name of a kernel stands for.

A name is looked up when it is met, not when the function was defined, so that one function can be
customised again after the sizes and types around it changed.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType, FunctionType
from typing import Any

from allo.dialects.types import AlloType, ArrayAnnotation

_OWN_MODULES = (
    "allo.customize",
    "allo.dataflow",
    "allo.dialects",
    "allo.frontend",
    "allo.schedule",
)
_FRAME_KINDS = (int, float, AlloType, ArrayAnnotation, FunctionType)


class Missing:
    """The absence of a value (None is a value)."""


MISSING = Missing()


def caller_frames() -> list[FrameType]:
    """The user's stack frames, nearest first, up to the module level."""
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith(_OWN_MODULES):
            frames.append(frame)
        if frames and frame.f_code.co_name == "<module>":
            break
        frame = frame.f_back
    return frames


class Names:
    """The free names of one Python function.

    Looked up in its closure, then (for the function that was passed to ``customize``) in the
    callers' frames of the functions it is written in, then in its module, then in any frame, then
    among the built-ins: a caller's local variable never hides what the kernel's text says.
    ``global_vars`` takes the place of all of these.

    Args:
        frames: of the callers; one list for all functions of a module, emptied when it is built.
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None,
        frames: list[FrameType],
        global_vars: Mapping[str, Any] | None = None,
        *,
        is_top: bool = True,
    ) -> None:
        self._given = global_vars
        self._closure = _closure(fn)
        self._module: Mapping[str, Any] = getattr(fn, "__globals__", {})
        self._frames = frames
        self._enclosing = [f for f in frames if _encloses(f, fn)] if is_top else []

    def lookup(self, name: str) -> Any:
        """The value of ``name``, or ``MISSING``."""
        if self._given is not None:
            return self._given.get(name, getattr(builtins, name, MISSING))
        if name in self._closure:
            return self._closure[name]
        found = self._in_frames(self._enclosing, name, _FRAME_KINDS)
        if found is not MISSING:
            return found
        if name in self._module:
            return self._module[name]
        found = self._in_frames(self._frames, name, (object,))
        return getattr(builtins, name, MISSING) if found is MISSING else found

    def _in_frames(self, frames: list[FrameType], name: str, kinds: tuple[type, ...]) -> Any:
        for frame in frames:
            code = frame.f_code
            local = name in code.co_varnames or name in code.co_cellvars
            if not local and code.co_name != "<module>":
                continue
            value = frame.f_locals.get(name, MISSING)
            if value is not MISSING and isinstance(value, kinds):
                return value
        return MISSING

    def forget_callers(self) -> None:
        """Let go of the callers' frames, and with them of all their variables: nothing is left to look up."""
        self._frames.clear()
        self._enclosing.clear()

    def known(self) -> set[str]:
        """Names a user may have meant, for near-miss hints."""
        if self._given is not None:
            return set(self._given)
        names = set(self._closure) | set(self._module)
        return {n for n in names if not n.startswith("__")}


def _encloses(frame: FrameType, fn: Callable[..., Any] | None) -> bool:
    """Whether ``fn`` is written inside the function that runs in ``frame``."""
    code = frame.f_code
    inside = getattr(fn, "__qualname__", "").startswith(f"{code.co_qualname}.<locals>.")
    return inside and frame.f_globals is getattr(fn, "__globals__", None)


def _closure(fn: Callable[..., Any] | None) -> dict[str, Any]:
    cells = getattr(fn, "__closure__", None) or ()
    names = fn.__code__.co_freevars if fn is not None and hasattr(fn, "__code__") else ()
    found = {}
    for name, cell in zip(names, cells, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def unwrap(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function a decorator wrapped."""
    function: Callable[..., Any] = inspect.unwrap(fn)
    return function
