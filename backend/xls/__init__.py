"""XLS[cc]: the kernel as C++ for Google's XLS, run here by g++."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allo.target import BuildRequest

    from .module import XLSCCModule

__all__ = ["XLSCCModule", "build", "is_available"]


def build(request: BuildRequest) -> XLSCCModule:
    """Build for ``xls`` or ``xlscc``."""
    from .module import XLSCCModule

    return XLSCCModule.from_request(request)


def is_available() -> bool:
    """Whether ``g++`` (which runs sw_emu) or ``xlscc`` is on PATH."""
    return any(shutil.which(name) for name in ("g++", "xlscc"))


def __getattr__(name: str) -> Any:
    if name == "XLSCCModule":
        from .module import XLSCCModule

        return XLSCCModule
    raise AttributeError(name)
