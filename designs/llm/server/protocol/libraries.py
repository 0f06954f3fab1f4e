"""The packages of the extra ``serve``, imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any

from allo.errors import ToolMissingError


def library(name: str) -> Any:
    """A module of ``starlette`` or ``uvicorn``.

    Raises:
        ToolMissingError: it is not installed; the message names the extra that brings it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolMissingError(
            f"The package {name.split('.')[0]!r} cannot be imported, and a server needs it.",
            help='run `pip install "allo[serve]"`; in a checkout, run `scripts/setup`.',
            notes=(str(error).split("\n")[0],),
        ) from error
