"""The packages of the extra ``serve``, imported where they are used."""

from __future__ import annotations

from typing import Any

from ...checkpoints import libraries


def library(name: str) -> Any:
    """A module of ``starlette`` or ``uvicorn``.

    Raises:
        ToolMissingError: it is not installed; the message names the extra that brings it.
    """
    return libraries.library(name, "serve", "a server needs it")
