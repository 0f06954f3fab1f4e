"""The one place that imports the schema of TFLite files, an optional extra."""

from __future__ import annotations

import importlib
from typing import Any

from allo.dialects.diagnostics import ToolMissingError


def load_schema() -> Any:
    """The module ``tflite``.

    Raises:
        ToolMissingError: when it is not installed; the message names the extra that brings it.
    """
    try:
        return importlib.import_module("tflite")
    except ImportError as error:
        raise ToolMissingError(
            "The package tflite cannot be imported, and a TFLite file cannot be read without it.",
            help='run `pip install "allo[tflite]"`; a checkout gets it by `scripts/setup`.',
            notes=(str(error).split("\n")[0],),
        ) from error
