"""HLS C++: one emitter, vendors as tables, csim by g++, drivers for the vendors' tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .vendors.availability import is_available

if TYPE_CHECKING:
    from allo.target import BuildRequest

    from .module import HLSModule

__all__ = ["HLSModule", "build", "is_available"]


def build(request: BuildRequest) -> HLSModule:
    """Build for ``vhls``, ``vivado_hls`` or ``vitis_hls``."""
    from .module import HLSModule

    return HLSModule.from_request(request)


def __getattr__(name: str) -> Any:
    if name == "HLSModule":
        from .module import HLSModule

        return HLSModule
    raise AttributeError(name)
