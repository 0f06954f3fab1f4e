"""The one place that imports the schema of TFLite files, an optional extra."""

from __future__ import annotations

from typing import Any

from allo.dialects.processes.extras import load_extra


def load_schema() -> Any:
    """The module ``tflite``.

    Raises:
        ToolMissingError: when it is not installed; the message names the extra that brings it.
    """
    return load_extra(
        "tflite",
        "The package tflite cannot be imported, and a TFLite file cannot be read without it.",
        'run `pip install "allo[tflite]"`; a checkout gets it by `scripts/setup`.',
    )
