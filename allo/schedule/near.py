"""Near misses for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str], lead: str) -> str:
    """A help sentence: the closest known name if any, and all of them.

    Args:
        lead: words before the list, such as ``"it holds"``.
    """
    names = list(dict.fromkeys(known))
    if not names:
        return f"{lead} nothing."
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = ", ".join(names[:24]) + (", …" if len(names) > 24 else "")
    return f"{hint}{lead} {shown}."
