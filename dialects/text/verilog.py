"""Verilog as tools read it: without comments, which name files and lines of the user's program."""

from __future__ import annotations

import re

_PART = re.compile(r'"(?:\\.|[^"\\\n])*"|\\\S+|/\*.*?\*/|//[^\n]*', re.DOTALL)
"""What ``//`` may stand in (a text, an escaped name, another comment), or a comment to the line's end."""
_DIRECTIVE = re.compile(r"//\s*(verilator|synopsys|synthesis|pragma)\b", re.IGNORECASE)


def without_comments(verilog: str) -> str:
    """The text without comments to the end of a line, except those that tools obey.

    What is kept in the cache by this text is found again when the program lies in another folder.
    """
    return _PART.sub(_kept, verilog)


def _kept(found: re.Match[str]) -> str:
    text = found[0]
    return "" if text.startswith("//") and not _DIRECTIVE.match(text) else text
