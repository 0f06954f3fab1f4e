"""Networks of HGQ2 on Keras 3."""

from __future__ import annotations

from .entry import exported

__all__ = ["exported"]
