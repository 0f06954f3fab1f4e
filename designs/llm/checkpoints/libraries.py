"""The packages of the extra ``llm``, imported where they are used: they read the files of models."""

from __future__ import annotations

import importlib
from typing import Any

from allo.errors import ToolMissingError


def library(name: str) -> Any:
    """A module of ``safetensors``, ``tokenizers`` or ``gguf``.

    Raises:
        ToolMissingError: when it is not installed; the message names the extra that brings it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolMissingError(
            f"The package {name.split('.')[0]!r} cannot be imported, and a checkpoint's files "
            "cannot be read without it.",
            help='run `pip install "allo[llm]"`; in a checkout, run `scripts/setup`.',
            notes=(str(error).split("\n")[0],),
        ) from error
