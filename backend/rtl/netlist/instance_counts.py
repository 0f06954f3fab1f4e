"""How often each module is in a design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Protocol


class HasInstances(Protocol):
    """A module that knows which modules are inside it, each with how often it is there."""

    @property
    def instances(self) -> Mapping[str, int]:
        """By the names of these modules."""


def instance_counts(modules: Mapping[str, HasInstances], top: str) -> Counter[str]:
    """How often each module is inside another one, itself included; the others are not in the answer."""
    found: dict[str, None] = {}
    inside_first: list[str] = []
    _visit(modules, top, found, inside_first)
    counts = Counter(dict.fromkeys(found, 0))
    counts[top] = 1
    for name in reversed(inside_first):
        for inner, number in modules[name].instances.items():
            if inner in found:
                counts[inner] += counts[name] * number
    return counts


def _visit(
    modules: Mapping[str, HasInstances],
    name: str,
    found: dict[str, None],
    inside_first: list[str],
) -> None:
    """Note a module and those inside it, each once: as it is found, and behind all that it holds."""
    found[name] = None
    for inner in modules[name].instances:
        if inner in modules and inner not in found:
            _visit(modules, inner, found, inside_first)
    inside_first.append(name)
