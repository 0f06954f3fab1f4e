"""Ensembles of decision trees from ONNX-ML files: gradient-boosted trees and random forests."""

from __future__ import annotations

from .entry import from_trees

__all__ = ["from_trees"]
