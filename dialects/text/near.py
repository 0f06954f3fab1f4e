"""Near misses for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def unknown_attribute(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name a module does not have."""
    public = [each for each in known if not each.startswith("_")]
    hint = did_you_mean(name, public).strip() if not name.startswith("_") else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{'; ' * bool(hint)}{hint}")


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """``"did you mean 'x'? "`` with the closest known name, or "" where none is close."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"did you mean {near[0]!r}? " if near else ""
