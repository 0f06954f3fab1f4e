"""Sentences that list the names a schedule knows."""

from __future__ import annotations

from collections.abc import Iterable

from allo.dialects.near import did_you_mean


def suggestion(name: str, known: Iterable[str], lead: str) -> str:
    """A help sentence: the closest known name if any, and all of them.

    Args:
        lead: words before the list, such as ``"it holds"``.
    """
    names = list(dict.fromkeys(known))
    if not names:
        return f"{lead} nothing."
    hint = did_you_mean(name, names, cutoff=0.5)
    shown = ", ".join(names[:24]) + (", …" if len(names) > 24 else "")
    return f"{hint}{lead} {shown}."
