"""The back ends; each registers its targets by name in ``allo.target``."""

from __future__ import annotations

import importlib
from types import ModuleType

_SUBMODULES = (
    "aie",
    "catapult",
    "cpu",
    "devices",
    "hls",
    "ip",
    "llvm",
    "pynq",
    "report",
    "rtl",
    "sim",
    "simulator",
    "synth",
    "tapa",
    "vitis",
    "xls",
)


def __getattr__(name: str) -> ModuleType:
    """``allo.backend.<module>`` behind ``import allo`` alone."""
    if name in _SUBMODULES:
        return importlib.import_module(f"allo.backend.{name}")
    raise AttributeError(f"module 'allo.backend' has no attribute {name!r}")
