"""The one place that imports PyTorch, which is an optional extra."""

from __future__ import annotations

import importlib
from typing import Any

from allo.dialects.diagnostics import ToolMissingError


def load_torch() -> Any:
    """The module ``torch``.

    Raises:
        ToolMissingError: when PyTorch is not installed; the message names the extra that brings it.
    """
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise ToolMissingError(
            "PyTorch cannot be imported, and a model cannot be compiled without it.",
            help='run `pip install "allo[torch]"`; in a checkout, run `scripts/setup --torch`.',
            notes=(str(error).split("\n")[0],),
        ) from error
