"""External C++ under its published path: ``from allo.backend.ip import IPModule``."""

from __future__ import annotations

from allo.external import IPModule

__all__ = ["IPModule"]
