"""The one place that imports PyTorch, which is an optional extra."""

from __future__ import annotations

from typing import Any

from allo.dialects.processes.extras import load_extra


def load_torch() -> Any:
    """The module ``torch``.

    Raises:
        ToolMissingError: when PyTorch is not installed; the message names the extra that brings it.
    """
    return load_extra(
        "torch",
        "PyTorch cannot be imported, and a model cannot be compiled without it.",
        'run `pip install "allo[torch]"`; in a checkout, run `scripts/setup --torch`.',
    )
