"""Published helpers that are not here: they are imported, and a call says what does their work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from allo.dialects.diagnostics import NotProvidedError


def not_provided(name: str, why: str, instead: str) -> Callable[..., NoReturn]:
    """A function in place of a published one.

    Args:
        name: as a program writes it, ``df._build_top``.
        why: the rest of the sentence that begins with the name.
        instead: the line of help.
    """

    def refuse(*args: Any, **named: Any) -> NoReturn:
        """Raise ``NotProvidedError``, with what does the work here."""
        del args, named
        raise NotProvidedError(f"{name} {why}", help=instead)

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    return refuse
