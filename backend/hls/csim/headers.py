"""Where the open C++ headers of the vendor lie, and the compiler that reads them."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from allo.dialects.diagnostics import ToolMissingError

SHIMS = Path(__file__).parents[1] / "shims"
AC_SHIMS = SHIMS / "ac"
XLS_SHIMS = SHIMS / "xls"
RUNTIME = Path(__file__).parents[2] / "runtime"


def open_headers() -> Path:
    """The folder of AMD's ``ap_int.h``, ``ap_fixed.h``, ``hls_stream.h``, used where it lies.

    ``$ALLO_HLS_HEADERS`` names another folder, for example that of an installed Vitis.

    Raises:
        ToolMissingError: when no folder has them.
    """
    chosen = os.environ.get("ALLO_HLS_HEADERS")
    folders = [Path(chosen)] if chosen else _installed()
    for folder in folders:
        if (folder / "ap_int.h").is_file():
            return folder
    where = f" in {chosen} ($ALLO_HLS_HEADERS)" if chosen else ""
    raise ToolMissingError(
        f"The C++ headers ap_int.h, ap_fixed.h and hls_stream.h were not found{where}.",
        help="install them with: pip install --no-deps hls4ml==1.3.0",
    )


def open_ac_headers() -> Path:
    """The folder of Siemens' ``ac_int.h``, ``ac_fixed.h``: of ``$MGC_HOME``, or the open ones.

    Raises:
        ToolMissingError: when no folder has them.
    """
    home = os.environ.get("MGC_HOME")
    folders = [Path(home) / "shared/include"] if home else []
    for folder in [*folders, *_installed("catapult/ac_types/include")]:
        if (folder / "ac_int.h").is_file():
            return folder
    raise ToolMissingError(
        "The C++ headers ac_int.h and ac_fixed.h were not found.",
        help="install them with: pip install --no-deps hls4ml==1.3.0, or set MGC_HOME to Catapult.",
    )


def _installed(part: str = "vivado/ap_types") -> list[Path]:
    spec = importlib.util.find_spec("hls4ml")
    if spec is None or not spec.submodule_search_locations:
        return []
    return [Path(p) / "templates" / part for p in spec.submodule_search_locations]


def compiler() -> str:
    """The path of the C++ compiler: ``$CXX`` or ``g++``.

    Raises:
        ToolMissingError: when it is not installed.
    """
    name = os.environ.get("CXX") or "g++"
    found = shutil.which(name)
    if found is None:
        raise ToolMissingError(
            f"The C++ compiler {name} was not found; csim compiles the kernel with it.",
            help="install it with: apt-get install g++ (or set CXX to a C++14 compiler).",
        )
    return found
