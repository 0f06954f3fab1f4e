"""Which vendor tools are installed."""

from __future__ import annotations

import shutil

_EXECUTABLES = {
    "vivado_hls": ("vivado_hls",),
    "vhls": ("vivado_hls",),
    "vitis_hls": ("vitis_hls", "vitis-run"),
    "tapa": ("tapa",),
    "pynq": ("vitis_hls", "vitis-run"),
    "catapult": ("catapult",),
}


def find_tool(backend: str) -> str | None:
    """The path of the executable of a vendor's HLS tool, or None."""
    for name in _EXECUTABLES.get(backend, (backend,)):
        found = shutil.which(name)
        if found:
            return found
    return None


def is_available(backend: str = "vivado_hls") -> bool:
    """Whether the tool of ``vivado_hls``, ``vitis_hls`` or ``tapa`` is on PATH."""
    return find_tool(backend) is not None
