"""What points of a sweep call in other processes."""

from __future__ import annotations

import os
from pathlib import Path


def die_once(folder: str, n: int) -> int:
    """The square of a number; the first worker that gets 2 ends at once."""
    mark = Path(folder) / "died"
    if n == 2 and not mark.exists():
        mark.write_text("")
        os._exit(1)
    return n * n


def fail_at_three(n: int) -> int:
    if n == 3:
        raise ValueError("three")
    return n


def always_die(n: int) -> int:
    os._exit(n)
