"""QONNX files as designs: quantised networks from Brevitas, QKeras, HGQ and FINN.

``qonnx``, ``onnx`` and ``onnxruntime`` are an optional extra; nothing imports them before a file is read.
"""

from __future__ import annotations

from .entry import from_qonnx

__all__ = ["from_qonnx"]
