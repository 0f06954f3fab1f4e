"""Networks of HGQ2 on Keras 3, written as QONNX graphs."""

from __future__ import annotations

from .entry import from_keras

__all__ = ["from_keras"]
