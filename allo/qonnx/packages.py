"""The one place that imports ``qonnx`` and what it runs on, which are an optional extra."""

from __future__ import annotations

from typing import Any

from allo.dialects.processes.extras import load_extra


def load(name: str) -> Any:
    """A module of ``qonnx``, ``onnx`` or ``onnxruntime``.

    Raises:
        ToolMissingError: when it is not installed; the message names the extra that brings it.
    """
    return load_extra(
        name,
        f"{name} cannot be imported, and a QONNX file cannot be read without it.",
        'run `pip install "allo[qonnx]"`; in a checkout, run `scripts/setup`.',
    )
