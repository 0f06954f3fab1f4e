"""From a Python function to core IR: resolve, elaborate, emit.

:func:`build_module` is the way in; :class:`KernelModule` is what comes out. ``from_pytorch``,
``from_brevitas``, ``from_keras``, ``from_qonnx``, ``from_tflite`` and ``from_trees``, the ways in for models,
are in packages above; they are published here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .kernel_module import FunctionInfo, KernelModule, ValueInfo

__all__ = ["FunctionInfo", "KernelModule", "ValueInfo", "build_module"]


def __getattr__(name: str) -> Any:
    if name == "build_module":
        from .build import build_module

        return build_module
    if name == "from_tflite":
        return import_module("allo.tflite").from_tflite
    if name == "from_pytorch":  # by name: the package is above this one
        return import_module("allo.torch").from_pytorch
    if name == "from_qonnx":
        return import_module("allo.qonnx").from_qonnx
    if name == "from_trees":
        return import_module("allo.qonnx.trees").from_trees
    if name == "from_keras":
        return import_module("allo.qonnx.exports.keras").from_keras
    if name == "from_brevitas":
        return import_module("allo.qonnx.exports.brevitas").from_brevitas
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
