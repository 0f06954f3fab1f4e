"""Quantisation of PyTorch models to integers, with an exact reference in NumPy."""

from __future__ import annotations

from allo.models.accuracy import AccuracyTable

from .entry import quantize
from .model import QuantizedModel

__all__ = ["AccuracyTable", "QuantizedModel", "quantize"]
