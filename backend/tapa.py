"""The TAPA target under its published path: ``from allo.backend.tapa import is_available``."""

from __future__ import annotations

from allo.backend.hls import HLSModule
from allo.backend.hls import is_available as _is_available


def is_available(mode: str | None = None, *, tool: bool = False) -> bool:
    """What ``allo.backend.hls.is_available("tapa", mode, tool=tool)`` says."""
    return _is_available("tapa", mode, tool=tool)


__all__ = ["HLSModule", "is_available"]
