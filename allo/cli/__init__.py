"""The command line: ``allo version``, ``allo report`` … One file a command."""

from __future__ import annotations

from .app import main

__all__ = ["main"]
