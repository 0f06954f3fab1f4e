"""Which vendor tools are installed."""

from __future__ import annotations

import shutil

from allo.dialects.diagnostics import OptionError, ToolMissingError
from allo.dialects.options.check import check_step

from ..csim.headers import compiler, open_headers

_EXECUTABLES = {
    "vivado_hls": ("vivado_hls",),
    "vhls": ("vivado_hls",),
    "vitis_hls": ("vitis_hls", "vitis-run"),
    "tapa": ("tapa",),
    "pynq": ("vitis_hls", "vitis-run"),
    "catapult": ("catapult",),
}


WITHOUT_REPLACEMENT = ("impl", "custom")
"""Modes that only the vendor's tool can run."""


def find_tool(backend: str) -> str | None:
    """The path of the executable of a vendor's HLS tool, or None."""
    for name in _EXECUTABLES.get(backend, (backend,)):
        found = shutil.which(name)
        if found:
            return found
    return None


def is_available(
    backend: str = "vivado_hls", mode: str | None = None, *, tool: bool = False
) -> bool:
    """Whether designs for an HLS target can be built and run here.

    The text needs nothing, csim needs a C++ compiler, and every other mode but ``impl`` and
    ``custom`` runs on Allo's own Verilog where the vendor's tool is missing.

    Args:
        backend: a target: ``vivado_hls``, ``vitis_hls``, ``tapa``, ``pynq``, ``catapult``.
        mode: the mode that the program is about to build; without it, every mode that needs no
            vendor's tool.
        tool: ask for the vendor's tool itself, which the modes ``impl`` and ``custom`` cannot do
            without.

    Raises:
        OptionError: the target or the mode is no text.
        InvalidModeError: the target has no such mode.
    """
    for name, given in (("backend", backend), ("mode", mode or "")):
        if not isinstance(given, str):
            raise OptionError(
                f"is_available takes the name of a {name}, not {given!r}.",
                help='write is_available("vitis_hls", mode="csim").',
            )
    if backend in _EXECUTABLES and mode is not None:
        check_step(backend, mode, None)
    found = find_tool(backend) is not None
    if mode == "impl" and backend == "pynq":
        return found and shutil.which("vivado") is not None
    if tool or mode in WITHOUT_REPLACEMENT:
        return found
    return found or (backend in _EXECUTABLES and _runs_csim())


def _runs_csim() -> bool:
    try:
        compiler()
        open_headers()
    except ToolMissingError:
        return False
    return True
