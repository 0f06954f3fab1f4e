"""Values in error messages."""

from __future__ import annotations

from typing import Any


def shown(value: Any, limit: int = 60) -> str:
    """A value as an error message shows it: its ``repr`` on one line, cut, or its type."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
