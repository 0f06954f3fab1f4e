"""Options: what ``build``, ``configs``, ``customize`` and calls of built modules take, checked in one place.

:mod:`.table` lists every option with its kind, range, default and meaning; :mod:`.check` holds what a
user gave against it. An option is added by one line of the table. Both are loaded when they are first
asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .guard import checked

if TYPE_CHECKING:
    from .check import check_step, read_call, read_options, refuse_keywords
    from .groups import MODES
    from .option import Option
    from .table import options_of

_PLACES = {
    "MODES": "groups",
    "Option": "option",
    "check_step": "check",
    "options_of": "table",
    "read_call": "check",
    "read_options": "check",
    "refuse_keywords": "check",
}

__all__ = [
    "MODES",
    "Option",
    "check_step",
    "checked",
    "options_of",
    "read_call",
    "read_options",
    "refuse_keywords",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
