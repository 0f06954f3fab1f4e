"""The one place that imports ``qonnx`` and what it runs on, which are an optional extra."""

from __future__ import annotations

import importlib
from typing import Any

from allo.dialects.diagnostics import ToolMissingError


def load(name: str) -> Any:
    """A module of ``qonnx``, ``onnx`` or ``onnxruntime``.

    Raises:
        ToolMissingError: when it is not installed; the message names the extra that brings it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolMissingError(
            f"{name} cannot be imported, and a QONNX file cannot be read without it.",
            help='run `pip install "allo[qonnx]"`; in a checkout, run `scripts/setup`.',
            notes=(str(error).split("\n")[0],),
        ) from error
