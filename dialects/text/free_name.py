"""A name that is not taken yet."""

from __future__ import annotations

from collections.abc import Container


def free_name(wanted: str, *taken: Container[object], first: int = 1) -> str:
    """``wanted``, or with ``_1``, ``_2`` … where that is taken; ``first`` is the lowest number."""
    name, number = wanted, first
    while any(name in names for names in taken):
        name = f"{wanted}_{number}"
        number += 1
    return name
