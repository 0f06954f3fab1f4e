"""Which vendor tools are installed."""

from __future__ import annotations

import shutil

from allo.dialects.diagnostics import ToolMissingError

from ..csim.headers import compiler, open_headers

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


def is_available(backend: str = "vivado_hls", *, tool: bool = False) -> bool:
    """Whether designs for an HLS target can be built and run here.

    The text needs nothing, csim needs a C++ compiler, and csyn, cosim and emulation run on Allo's
    own Verilog where the vendor's tool is missing.

    Args:
        backend: a target: ``vivado_hls``, ``vitis_hls``, ``tapa``, ``pynq``, ``catapult``.
        tool: ask for the vendor's tool instead, which the modes ``hw``, ``impl``, ``custom`` and
            ``debug`` cannot do without.
    """
    if find_tool(backend) is not None:
        return True
    return not tool and backend in _EXECUTABLES and _runs_csim()


def _runs_csim() -> bool:
    try:
        compiler()
        open_headers()
    except ToolMissingError:
        return False
    return True
