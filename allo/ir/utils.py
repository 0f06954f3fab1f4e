"""Helpers that user code imports: buffer handles, captured names, MLIR text."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any

from allo.dialects.types import AlloType

if TYPE_CHECKING:
    from allo.dialects._mlir import ir

_KINDS = (int, float, AlloType, FunctionType)
_SKIPPED = ("get_global_vars", "customize", "build")


def get_global_vars(fn: Callable[..., Any]) -> dict[str, Any]:
    """The names a kernel can refer to: its module's globals, its callers' numbers, types and
    functions (the nearest caller's first), and its closure, the later ones winning.
    """
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name not in _SKIPPED:
            frames.append(frame)
        if frame.f_code.co_name == "<module>":
            break
        frame = frame.f_back
    names: dict[str, Any] = dict(fn.__globals__)
    for frame in reversed(frames):
        names.update({k: v for k, v in frame.f_locals.items() if isinstance(v, _KINDS)})
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue
    return names


def invoke_mlir_parser(text: str) -> ir.Module:
    """Parse MLIR text in a fresh context.

    Raises:
        BuildError: when it does not parse.
    """
    module: ir.Module = importlib.import_module("allo.dialects.core.parse").parse_module(text)
    return module


def __getattr__(name: str) -> Any:
    if name == "MockBuffer":
        return importlib.import_module("allo.schedule.handles").MockBuffer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
