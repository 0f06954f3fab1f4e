"""Modules of the foundation that users import: ``allo.ir.types``, ``allo.ir.utils``."""

from __future__ import annotations

import importlib
from types import ModuleType

_SUBMODULES = ("transform", "types", "utils")


def __getattr__(name: str) -> ModuleType:
    """``allo.ir.<module>`` behind ``import allo`` alone."""
    if name in _SUBMODULES:
        return importlib.import_module(f"allo.ir.{name}")
    raise AttributeError(f"module 'allo.ir' has no attribute {name!r}")
