"""Python packages that are optional extras."""

from __future__ import annotations

import importlib
from typing import Any

from ..diagnostics import ToolMissingError


def load_extra(name: str, missing: str, help: str) -> Any:
    """A module of an optional package.

    Args:
        name: of the module.
        missing: the sentence that says what cannot be done without it.
        help: how to install it.

    Raises:
        ToolMissingError: when it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolMissingError(missing, help=help, notes=(str(error).split("\n")[0],)) from error
