"""Sentences that list the names a schedule knows."""

from __future__ import annotations

import re
from collections.abc import Iterable

from allo.dialects.text.near import did_you_mean

_NONE = (
    (r"(.*) has the loops", r"\1 has no `for` loops."),
    (r"(.*) has the (\w+)", r"\1 has no \2."),
    (r"its (\w+) are", r"it has no \1."),
)


def suggestion(name: str, known: Iterable[str], lead: str, also: Iterable[str] = ()) -> str:
    """A help sentence: the closest known name if any, and all of them.

    Args:
        lead: words before the list, such as ``"it holds"``.
        also: further names that may have been meant, which are not listed.
    """
    names = list(dict.fromkeys(known))
    hint = did_you_mean(name, [*names, *also], cutoff=0.5)
    if not names:
        return f"{hint}{_nothing(lead)}"
    shown = ", ".join(names[:24]) + (", …" if len(names) > 24 else "")
    return f"{hint}{lead} {shown}."


def _nothing(lead: str) -> str:
    for pattern, sentence in _NONE:
        if re.fullmatch(pattern, lead):
            return re.sub(pattern, sentence, lead, count=1)
    return f"{lead} nothing."
