"""The Vitis target under its published path: ``from allo.backend.vitis import generate_hbm_config``."""

from __future__ import annotations

from allo.backend.hls import HLSModule
from allo.backend.hls import is_available as _is_available
from allo.backend.hls.vendors.connectivity import generate_hbm_config


def is_available(mode: str | None = None, *, tool: bool = False) -> bool:
    """What ``allo.backend.hls.is_available("vitis_hls", mode, tool=tool)`` says."""
    return _is_available("vitis_hls", mode, tool=tool)


__all__ = ["HLSModule", "generate_hbm_config", "is_available"]
