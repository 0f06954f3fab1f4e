"""The packages of extras, imported where they are used: those of ``llm`` read the files of models."""

from __future__ import annotations

import importlib
from typing import Any

from allo.errors import ToolMissingError


def library(
    name: str, extra: str = "llm", lacks: str = "a checkpoint's files cannot be read without it"
) -> Any:
    """A module of an optional package, by default ``safetensors``, ``tokenizers`` or ``gguf``.

    Args:
        extra: the extra that brings it.
        lacks: what cannot be done without it.

    Raises:
        ToolMissingError: when it is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolMissingError(
            f"The package {name.split('.')[0]!r} cannot be imported, and {lacks}.",
            help=f'run `pip install "allo[{extra}]"`; in a checkout, run `scripts/setup`.',
            notes=(str(error).split("\n")[0],),
        ) from error
