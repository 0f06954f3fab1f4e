"""Options: what ``build``, ``configs``, ``customize`` and calls of built modules take, checked in one place.

:mod:`.table` lists every option with its kind, range, default and meaning; :mod:`.check` holds what a
user gave against it. An option is added by one line of the table.
"""

from __future__ import annotations

from .check import check_step, checked, read_call, read_options, refuse_keywords
from .option import Option
from .table import MODES, options_of

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
