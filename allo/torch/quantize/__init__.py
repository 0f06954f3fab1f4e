"""Quantisation of PyTorch models to integers, with an exact reference in NumPy."""

from __future__ import annotations

from .entry import quantize
from .model import QuantizedModel
from .table import AccuracyTable

__all__ = ["AccuracyTable", "QuantizedModel", "quantize"]
